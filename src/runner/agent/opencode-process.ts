import { randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import type { AgentNamespace } from '../../shared/agent/access.ts';
import { runCommand } from '../../shared/platform/commands.ts';
import { processStat, withDescendants } from '../../shared/platform/processes.ts';
import { type Program, startProgram } from '../../shared/platform/program.ts';

/** On a host that is busy it takes many times what it takes alone. */
const START_MS = 60_000;

/** Of its own accord it is to fetch nothing, and to take nothing from a repository. */
const SWITCHED_OFF = [
  'MODELS_FETCH',
  'AUTOUPDATE',
  'LSP_DOWNLOAD',
  'DEFAULT_PLUGINS',
  'PROJECT_CONFIG',
  'CLAUDE_CODE',
  'EXTERNAL_SKILLS',
];

/**
 * Starts what follows and ends with it; ends it when standard input does, which is when the runner has
 * ended, however it did. As the first process of a pid namespace it takes with it all that is left there.
 */
const KEEPER = `
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; kill -KILL "$server"; } >/dev/null 2>&1 &
exec 3<&-
wait "$server"
kill -KILL $! 2>/dev/null
`;

/**
 * How the server gets a pid namespace: as root may make one, or with a user namespace, where everything
 * belongs to this one user and nobody becomes another, as with `sudo`; or it gets none.
 */
export type NamespaceKind = 'pid' | 'user' | 'none';

export interface ProcessParts {
  readonly file: string;
  readonly home: string;
  readonly path: string;
  readonly marker: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly namespace: NamespaceKind;
}

export interface OpenCodeProcess {
  readonly program: Program;
  readonly url: string;
  readonly password: string;
  readonly namespace: AgentNamespace | null;
}

/** Starts the server with an environment of its own and waits until it listens; or says in one line why not. */
export async function startOpenCode(
  parts: ProcessParts,
): Promise<{ ok: true; server: OpenCodeProcess } | { ok: false; why: string }> {
  const password = randomBytes(24).toString('hex');
  const keeper = ['/bin/sh', '-c', KEEPER, 'vole-agent'];
  const command = [...keeper, parts.file, 'serve', '--hostname=127.0.0.1', '--port=0', '--pure'];
  const [file = '', ...args] = [...MAKERS[parts.namespace], ...command];
  const program = startProgram(file, args, environment(parts, password), { lifeline: true });
  const line = await program.firstLine(START_MS);
  const url = /listening on (http:\/\/\S+)/.exec(line ?? '')?.[1];
  if (url !== undefined) {
    const namespace = parts.namespace === 'none' ? null : namespaceBelow(program.pid);
    return { ok: true, server: { program, url, password, namespace } };
  }
  const how = program.ended ? 'ended while it started' : `did not listen within ${START_MS / 1000} s`;
  await program.stop();
  const said = (program.errors() || line || '').replaceAll(/\s+/g, ' ').slice(-200);
  return { ok: false, why: `the agent's server ${how}${said ? `: ${said}` : ''}` };
}

function environment(parts: ProcessParts, password: string): Record<string, string> {
  return {
    HOME: parts.home,
    TMPDIR: `${parts.home}/tmp`,
    PATH: parts.path,
    LANG: 'C.UTF-8',
    SHELL: parts.config['shell'] as string,
    VOLE_JOB_MARKER: parts.marker,
    OPENCODE_SERVER_PASSWORD: password,
    // In place of the host's, where an agent that is root could write.
    OPENCODE_TEST_MANAGED_CONFIG_DIR: `${parts.home}/managed`,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(parts.config),
    ...Object.fromEntries(SWITCHED_OFF.map((name) => [`OPENCODE_DISABLE_${name}`, '1'])),
  };
}

const PID = ['--fork', '--pid', '--kill-child', '--mount-proc'];
const MAKERS: Readonly<Record<NamespaceKind, readonly string[]>> = {
  pid: ['unshare', ...PID],
  user: ['unshare', '--user', '--map-current-user', ...PID],
  none: [],
};

/** The best that this process may give a program. */
export async function mayNamespace(): Promise<NamespaceKind> {
  for (const kind of ['pid', 'user'] as const) {
    const [file = '', ...args] = MAKERS[kind];
    if ((await runCommand(file, [...args, 'true'], { timeoutMs: 10_000 })).ok) return kind;
  }
  return 'none';
}

/** Of a server that has just begun to listen, so that all there is is its own. Throws where it has ended. */
function namespaceBelow(pid: number): AgentNamespace {
  const outer = processStat(pid);
  const all = outer ? withDescendants([outer]) : [];
  const first = all.find(({ ppid }) => ppid === pid);
  if (!first) throw new Error('it has ended');
  const own = all.filter(({ ppid }) => ppid === first.pid).map(({ pid }) => pid);
  return { id: readlinkSync(`/proc/${first.pid}/ns/pid`), own: [first.pid, ...own] };
}
