import { z } from 'zod';

/** Commands that a coding agent carries out; `abort` ends one and is the server's own work. */
export const AGENT_COMMANDS = ['plan', 'implement', 'fix'] as const;
export type AgentCommand = (typeof AGENT_COMMANDS)[number];

/** A runner that can do agent runs has this label beside its own; nobody can give it by hand. */
export const AGENT_LABEL = 'vole:agent';

/** Of the target's texts, what an agent is shown at most, in characters. */
export const MOST_TARGET_TEXT = 64 * 1024;

const sha = z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/);

/**
 * A conversation with an agent, which a later command on the same target goes on with. Only the engine that
 * made it can, and only with the store that it keeps it in.
 */
export const agentSessionSchema = z.object({
  /** `opencode`. Another engine's is kept as it is and never resumed. */
  engine: z.string().min(1).max(100),
  id: z.string().min(1).max(200),
  /** Which of the engine's stores has it: one of a runner process's directory. */
  home: z.string().max(200),
});
export type AgentSessionRef = z.infer<typeof agentSessionSchema>;

/** What an agent run is about, as it was when the command was authorised. */
export const agentSpecSchema = z.object({
  command: z.enum(AGENT_COMMANDS),
  /** What followed the command's name; may be empty. */
  message: z.string(),
  /** Login of who gave the command. */
  author: z.string(),
  target: z.object({
    number: z.number().int().positive(),
    pull: z.boolean(),
    title: z.string(),
    body: z.string(),
    /** Oldest first, without vole's own. */
    comments: z.array(z.object({ author: z.string(), body: z.string() })),
  }),
  /** Branch that a change is pushed to, without `refs/heads/`; null for `plan`. */
  branch: z.string().nullable(),
  /** The latest accepted plan of the target; null where there is none. */
  plan: z.string().nullable(),
  /** Of an earlier command of the same name on the same target. */
  session: agentSessionSchema.nullable(),
  /** Commit that the checked-out one is to be diffed against in a review of all of it: the fork point. */
  base: sha.nullable(),
});
export type AgentSpec = z.infer<typeof agentSpecSchema>;
