import { z } from 'zod';
import { queryNumber, repositoryNameSchema } from './api-names.ts';

/** The part of the HTTP API that is about deliveries of forges. Times are epoch milliseconds. */

export const eventSchema = z.object({
  /** Place in the sequence of what was received. */
  id: z.number().int().positive(),
  repository: z.string(),
  forge: z.string(),
  delivery: z.string(),
  /** `push`, `pull_request`, `command`, `abort`, `comment-deleted`. */
  kind: z.string(),
  /** What it is about: `refs/heads/main`, `#12`, `#12 plan by alice`. */
  about: z.string(),
  receivedAtMs: z.number(),
  pending: z.boolean(),
  /** What came of it, in one line; empty while it is pending. */
  result: z.string(),
  pipeline: z.number().int().positive().nullable(),
});
export type ApiEvent = z.infer<typeof eventSchema>;
export const eventListSchema = z.object({ events: z.array(eventSchema) });

export const eventQuerySchema = z.object({
  repository: repositoryNameSchema.optional(),
  /** Only those that nothing came of yet. */
  pending: z.enum(['0', '1']).default('0'),
  limit: queryNumber(1, 1000).default(50),
  /** Only events with a lower id: the next page. */
  before: queryNumber(1).optional(),
});

/** `POST /api/events` takes the body of a saved delivery as the forge sent it, up to 25 MiB. */
export const replayQuerySchema = z.object({
  repository: repositoryNameSchema,
  /** As the forge's header names it; by the body's shape where it is not given. */
  event: z.string().min(1).max(100).optional(),
  delivery: z.string().min(1).max(200),
});
export const replayedSchema = z.object({
  /** Null where it starts nothing. */
  event: z.number().int().positive().nullable(),
  text: z.string(),
});
