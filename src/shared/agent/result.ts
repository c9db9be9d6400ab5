import { z } from 'zod';
import { agentSessionSchema } from './spec.ts';

/** Characters of a report or a plan: with what stands around it a forge takes it as one comment. */
export const MOST_REPORT = 48 * 1024;

/** The name of the artifact that a change is handed in as: a git bundle of one commit. */
export const CHANGE_ARTIFACT = 'vole-agent-change';

/** What became of a change that the server was asked to push. */
export const publishedSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('pending') }),
  z.object({
    state: z.literal('pushed'),
    /** As pushed: another than was handed in where it was rebased. */
    commit: z.string(),
    branch: z.string(),
    /** The one pull request of the branch; null where the forge has none for it and none was asked for. */
    pull: z.object({ number: z.number().int(), url: z.string().max(1000) }).nullable(),
    rebased: z.boolean(),
  }),
  /** Final. `why` is one line. */
  z.object({ state: z.literal('failed'), why: z.string().max(500) }),
]);
export type Published = z.infer<typeof publishedSchema>;

/** What is to be pushed; the bundle was sent as the run's artifact `CHANGE_ARTIFACT` before. */
export const publishRequestSchema = z.object({
  commit: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/),
  /** Its parent, which is the commit that was checked out. */
  parent: z.string().regex(/^[0-9a-f]{40}([0-9a-f]{24})?$/),
  /** Of a pull request, where one has to be made. */
  title: z.string().min(1).max(250),
  body: z.string().max(MOST_REPORT),
});
export type PublishRequest = z.infer<typeof publishRequestSchema>;

/** What an agent run left behind, part of its outcome. */
export const agentResultSchema = z.object({
  /** To be gone on with by a later command of the same name; null where there is none. */
  session: agentSessionSchema.nullable(),
  /** Markdown for the command's comment, secrets taken out. */
  report: z.string().max(MOST_REPORT),
  plan: z.object({ text: z.string().max(MOST_REPORT), accepted: z.boolean() }).nullable(),
  /** Rounds of review that were held. */
  rounds: z.number().int().nonnegative(),
  change: z
    .object({
      commit: z.string(),
      branch: z.string(),
      pull: z.object({ number: z.number().int(), url: z.string().max(1000) }).nullable(),
      rebased: z.boolean(),
    })
    .nullable(),
});
export type AgentResult = z.infer<typeof agentResultSchema>;
