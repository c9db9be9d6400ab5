import { z } from 'zod';
import { queryNumber, repositoryNameSchema } from './api-names.ts';

/** The part of the HTTP API that is about forges and the work on them. Times are epoch milliseconds. */

export const FORGE_KINDS = ['gitea', 'forgejo', 'github'] as const;
export type ForgeKind = (typeof FORGE_KINDS)[number];

const webUrl = z
  .string()
  .max(1000)
  .regex(/^https?:\/\/[^\s?#@]+$/i, 'it is an http:// or https:// URL without user, query and fragment')
  .refine((url) => URL.canParse(url), 'it is no URL');

export const forgeBodySchema = z.object({
  kind: z.enum(FORGE_KINDS, `a forge is one of ${FORGE_KINDS.join(', ')}`),
  /** Of its pages; the API's is made from it. */
  url: webUrl,
  /** On the server's host. */
  tokenFile: z
    .string()
    .min(1)
    .max(4096)
    .refine((file) => file.startsWith('/') && !file.includes('\0'), 'it is an absolute path on the server'),
  /** `owner/name` there; by default the repository's name here. */
  project: repositoryNameSchema.optional(),
  /** Ask the forge first what the token may do, and change nothing where it lacks something. */
  check: z.boolean().default(true),
});
export type ForgeBody = z.input<typeof forgeBodySchema>;

export const webhookSchema = z.object({
  /** Only a path where the public address is not known: no server runs on the directory. */
  url: z.string(),
  secret: z.string(),
});
export type ApiWebhook = z.infer<typeof webhookSchema>;

export const webhookBodySchema = z.object({ newSecret: z.boolean().default(false) });

export const TASK_KINDS = ['authorise', 'abort', 'comment', 'reply', 'status'] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

/** `dead`: it failed for the last time, or for good, and waits for a person. */
export const TASK_STATES = ['waiting', 'claimed', 'done', 'dead'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const taskSchema = z.object({
  id: z.number().int().positive(),
  kind: z.enum(TASK_KINDS),
  repository: z.string(),
  /** What it is about: a run, a comment, or a commit and a job. */
  subject: z.string(),
  state: z.enum(TASK_STATES),
  /** How often it has failed since it last was done. */
  attempts: z.number().int(),
  /** When it is tried next, while it waits. */
  dueAtMs: z.number(),
  /** How the last attempt failed, in one line; empty where it did not. */
  error: z.string(),
  createdAtMs: z.number(),
  updatedAtMs: z.number(),
});
export type ApiTask = z.infer<typeof taskSchema>;
export const taskListSchema = z.object({ tasks: z.array(taskSchema) });

export const taskQuerySchema = z.object({
  state: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(TASK_STATES, `a state is one of ${TASK_STATES.join(', ')}`)))
    .default(['waiting', 'claimed', 'dead']),
  limit: queryNumber(1, 1000).default(100),
});

/** One dead task, or all of them. */
export const retryTasksBodySchema = z.object({ id: z.number().int().positive().nullable() });
export const retriedSchema = z.object({ retried: z.number().int() });
