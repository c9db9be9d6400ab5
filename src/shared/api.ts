import { z } from 'zod';
import { agentResultSchema } from './agent/result.ts';
import { FORGE_KINDS, forgeBodySchema, webhookSchema } from './api-forge.ts';
import { accountNameSchema, cloneUrlSchema, queryNumber, repositoryNameSchema } from './api-names.ts';
import { ERRORS, type ErrorCode } from './errors.ts';
import { TRUSTS } from './job-spec.ts';
import { RUN_STATES, stepOutcomeSchema } from './outcome.ts';

/**
 * The HTTP API, as both ends read it. Times are epoch milliseconds (`...AtMs`), sizes bytes. A reply
 * that is no 2xx has the body of `faultSchema`. Fields are only ever added.
 */

const id = z.number().int().positive();
const atMs = z.number().nullable();

const errorCodes = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];
export const faultSchema = z.object({
  error: z.object({ code: z.enum(errorCodes), message: z.string() }),
});
export type Fault = z.infer<typeof faultSchema>;

/** What a run's coding agent left. */
export const apiAgentSchema = z.object({
  /** Markdown. */
  report: z.string(),
  /** Of review. */
  rounds: z.number().int().nonnegative(),
  /** Null where it made no plan. */
  planAccepted: z.boolean().nullable(),
  change: agentResultSchema.shape.change,
});
export type ApiAgent = z.infer<typeof apiAgentSchema>;

/** One run as lists have it. */
export const runSchema = z.object({
  id,
  pipeline: id,
  repository: z.string(),
  ref: z.string(),
  sha: z.string(),
  event: z.string(),
  trust: z.enum(TRUSTS),
  /** The pipeline that its own executes again, or null. */
  retryOf: id.nullable().default(null),
  job: z.string(),
  kind: z.enum(['job', 'command']),
  state: z.enum(RUN_STATES),
  /** How often it was leased; 0 before the first. */
  attempt: z.number().int().nonnegative(),
  /** How many of these ended by expiry. */
  lostCount: z.number().int().nonnegative(),
  needs: z.array(z.string()),
  labels: z.array(z.string()),
  cpus: z.number(),
  memoryBytes: z.number(),
  serial: z.string().nullable(),
  account: z.string().nullable(),
  machine: z.string().nullable(),
  createdAtMs: z.number(),
  queuedAtMs: atMs,
  startedAtMs: atMs,
  endedAtMs: atMs,
  leaseUntilMs: atMs,
  /** Set once somebody asked for its end. */
  cancelWhy: z.string().nullable(),
  /** One of `REASONS`, or null. */
  reason: z.string().nullable(),
  detail: z.string(),
  logBytes: z.number(),
  /** Once an agent's run has ended; otherwise null. */
  agent: apiAgentSchema.nullable().default(null),
});
export type ApiRun = z.infer<typeof runSchema>;

export const waitSchema = z.object({
  reasons: z.array(z.object({ code: z.string(), text: z.string() })),
  /** Place among the runs that could be leased, from 1; null where it is not among them. */
  place: z.number().int().nullable(),
});
export type ApiWait = z.infer<typeof waitSchema>;

export const runDetailSchema = runSchema.extend({
  steps: z.array(stepOutcomeSchema),
  /** Why it waits, while received or queued; null otherwise. */
  wait: waitSchema.nullable(),
  /** The other runs of its pipeline. */
  siblings: z.array(z.object({ id, job: z.string(), state: z.enum(RUN_STATES) })),
});
export type ApiRunDetail = z.infer<typeof runDetailSchema>;

export const runListSchema = z.object({ runs: z.array(runSchema) });

export const runQuerySchema = z.object({
  repository: repositoryNameSchema.optional(),
  /** One or several states with commas between. */
  state: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(RUN_STATES, `a state is one of ${RUN_STATES.join(', ')}`)))
    .optional(),
  limit: queryNumber(1, 1000).default(50),
  /** Only runs with a lower id: the next page. */
  before: queryNumber(1).optional(),
});

/**
 * `GET /api/runs/:id/log` gives the raw records of one attempt from an offset (see log-record.ts),
 * by default of the latest attempt. With `follow` the stream ends when that attempt is over and all of it was
 * sent; an attempt that has not begun is waited for. `Vole-Attempt` says which one it is and
 * `Vole-Next-Offset`, without `follow`, where to go on: only whole bytes up to there are sent.
 */
export const logQuerySchema = z.object({
  offset: queryNumber(0).default(0),
  follow: z.enum(['0', '1']).default('0'),
  attempt: queryNumber(1).optional(),
  /** Without `follow`: most bytes of this reply. */
  maxBytes: queryNumber(1).optional(),
});
export const LOG_ATTEMPT_HEADER = 'vole-attempt';
export const LOG_NEXT_OFFSET_HEADER = 'vole-next-offset';

/** Those of the latest attempt; `file` is what one is called when it is downloaded. */
export const artifactListSchema = z.object({
  attempt: z.number().int(),
  artifacts: z.array(z.object({ name: z.string(), file: z.string(), bytes: z.number().int() })),
});
export type ApiArtifacts = z.infer<typeof artifactListSchema>;

export const cancelBodySchema = z.object({ why: z.string().min(1).max(200).optional() });
export const cancelledSchema = z.object({
  /** `cancelling`: its runner learns it with the next heartbeat; a final state: it had ended before. */
  state: z.enum(['cancelling', ...RUN_STATES]),
  /** It had ended before it was asked for. */
  ended: z.boolean().default(false),
});

const pipelineFacts = z.object({
  id,
  repository: z.string(),
  event: z.string(),
  ref: z.string(),
  sha: z.string(),
  trust: z.enum(TRUSTS),
  title: z.string(),
  /** What is wrong with the workflow file, `file:line:column: what`; null where nothing is. */
  fault: z.string().nullable(),
  /** The pipeline that it executes again, or null. */
  retryOf: id.nullable().default(null),
  createdAtMs: z.number(),
});

export const pipelineSchema = pipelineFacts.extend({ runs: z.array(runSchema) });
export type ApiPipeline = z.infer<typeof pipelineSchema>;

/** `GET /api/pipelines`, the latest first. */
export const pipelineListSchema = z.object({
  pipelines: z.array(
    pipelineFacts.extend({
      /** How many of its runs are in each state that any is in. */
      states: z.partialRecord(z.enum(RUN_STATES), z.number().int()),
      /** The same for people: `3 of 4 passed, 1 failed`, or `fault: ` with its first line. */
      summary: z.string(),
    }),
  ),
});
export type ApiPipelineSummary = z.infer<typeof pipelineListSchema>['pipelines'][number];

export const pipelineQuerySchema = z.object({
  repository: repositoryNameSchema.optional(),
  limit: queryNumber(1, 200).default(50),
  /** Only pipelines with a lower id: the next page. */
  before: queryNumber(1).optional(),
});

/**
 * `POST /api/pipelines/:id/retry`: of its runs only these; without them all that did not pass. What needs them
 * or is needed by them goes along where it did not pass. `POST /api/runs/:id/retry` takes no body. Both
 * answer with the new pipeline.
 */
export const retryBodySchema = z.object({ runs: z.array(id).min(1).max(1000).optional() });

export const submitBodySchema = z.object({
  repository: repositoryNameSchema,
  /** Branch, tag, full ref or commit; null takes the default branch. */
  ref: z.string().nullable().default(null),
  /** Only these jobs, or entries of a matrix as they are shown, and what they need; empty takes all. */
  jobs: z.array(z.string().min(1).max(2000)).max(500).default([]),
});

export const repositorySchema = z.object({
  name: z.string(),
  cloneUrl: z.string(),
  /** Most runs at once; null is no cap. */
  maxJobs: z.number().int().nullable(),
  /** Where statuses and comments go; null is nowhere. */
  forge: z.enum(FORGE_KINDS).nullable().default(null),
  addedAtMs: z.number(),
});
export type ApiRepository = z.infer<typeof repositorySchema>;
/** What adding or changing one answers: with its webhook where a forge was set by it. */
export const repositorySetSchema = repositorySchema.extend({
  webhook: webhookSchema.nullable().default(null),
});
export type ApiRepositorySet = z.infer<typeof repositorySetSchema>;
export const repositoryListSchema = z.object({ repositories: z.array(repositorySchema) });

const maxJobs = z.number().int().min(1, 'max jobs is at least 1, or none').max(100_000).nullable();
export const addRepositoryBodySchema = z.object({
  name: repositoryNameSchema,
  cloneUrl: cloneUrlSchema,
  maxJobs: maxJobs.default(null),
  forge: forgeBodySchema.optional(),
});
export type AddRepositoryBody = z.input<typeof addRepositoryBodySchema>;
export const setRepositoryBodySchema = z.object({
  cloneUrl: cloneUrlSchema.optional(),
  maxJobs: maxJobs.optional(),
  /** Null: it lives on none any more. Another one keeps the webhook's secret. */
  forge: forgeBodySchema.nullable().optional(),
});
export type SetRepositoryBody = z.input<typeof setRepositoryBodySchema>;

export const keySchema = z.object({
  account: z.string(),
  fingerprint: z.string(),
  publicKey: z.string(),
  addedAtMs: z.number(),
});
export type ApiKey = z.infer<typeof keySchema>;
export const keyListSchema = z.object({ keys: z.array(keySchema) });
export const addKeyBodySchema = z.object({
  account: accountNameSchema,
  /** One line as in a `.pub` file, with or without comment. */
  publicKey: z.string().min(1).max(20_000),
});
export const keyAddedSchema = z.object({
  account: z.string(),
  fingerprint: z.string(),
  /** False where the account had this key already. */
  added: z.boolean(),
});
export const removedSchema = z.object({ removed: z.number().int() });

export const repositoryRemovedSchema = removedSchema.extend({
  /** How many secrets went with it. */
  secrets: z.number().int().default(0),
});

export const secretListSchema = z.object({
  secrets: z.array(z.object({ name: z.string(), updatedAtMs: z.number() })),
});

/** Sessions by machine, then by runner process. */
export const machinesSchema = z.object({
  machines: z.array(
    z.object({
      machine: z.string(),
      versions: z.array(z.string()),
      busy: z.number().int(),
      /** Slots of all its runner processes, connected or not. */
      slots: z.number().int(),
      /** Of all its runner processes together. */
      cpus: z.number(),
      memoryBytes: z.number(),
      /** Claimed by the jobs that run. */
      heldCpus: z.number().default(0),
      heldMemoryBytes: z.number().default(0),
      /** Runs that a process of it keeps room for: it takes no later ones until they fit. */
      keepsRoomFor: z.array(id).default([]),
      sessions: z.array(
        z.object({
          id: z.string(),
          account: z.string(),
          address: z.string(),
          process: z.string(),
          slot: z.number().int(),
          version: z.string(),
          labels: z.array(z.string()),
          repos: z.array(z.string()),
          engine: z.string(),
          sinceMs: z.number(),
          run: z
            .object({
              id,
              attempt: z.number().int(),
              repository: z.string(),
              job: z.string(),
              sinceMs: z.number(),
            })
            .nullable(),
        }),
      ),
    }),
  ),
});
export type ApiMachines = z.infer<typeof machinesSchema>;

/** `<data>/server.json`, 0600, while a server runs on that directory. */
export const serverFileSchema = z.object({
  /** Where HTTP listens, as a URL without a slash at its end. */
  http: z.string(),
  /** `HOST:PORT`. */
  ssh: z.string(),
  token: z.string().min(1),
  /** Of the SSH host key, `SHA256:...`. */
  fingerprint: z.string(),
  pid: z.number().int().positive(),
});
export type ServerFile = z.infer<typeof serverFileSchema>;
