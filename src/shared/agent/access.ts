/** How a worker reaches the agent's server of its runner process. */
export interface AgentAccess {
  /** Of the server, on loopback. */
  readonly url: string;
  /** For Basic authentication with the user `opencode`. */
  readonly password: string;
  /** Which store its sessions are in; see `AgentSessionRef.home`. */
  readonly home: string;
  /** After so many answers of the model in a turn, the server tells it to come to an end. */
  readonly mostSteps: number;
  /** Of its process, as seen from here: what the server starts is below it. */
  readonly pid: number;
  /** Null where it could be given none. */
  readonly namespace: AgentNamespace | null;
}

/** The pid namespace of the agents' server, which has all that its commands start. */
export interface AgentNamespace {
  /** Such as `pid:[4026532301]`. */
  readonly id: string;
  /** The server's own processes in it, as seen from here; the first is the namespace's first. */
  readonly own: readonly number[];
}

/** In the server's configuration, which agents and models are asked for by name. */
export const AGENT_PROVIDER = 'vole';

/** What the agent's shell finds in a job's tree: the job's cgroup, which it joins; see `shellWrapper`. */
export const TREE_CGROUP_FILE = 'agent-cgroup';

/**
 * What the agents' server would take settings from in a workspace, plugins among them, which are programs
 * that run within it. Being told to take none of a project is heeded by a part of it only, so it never
 * looks at a workspace that has them.
 */
export const SERVER_SETTINGS = ['.opencode', 'opencode.json', 'opencode.jsonc'] as const;
