import { z } from 'zod';
import { ENGINES, type EngineObject } from './engine/types.ts';
import { runOutcomeSchema } from './outcome.ts';

/** How a run ended here, whose record the server has not answered for yet. */
export const keptEndSchema = z.object({
  outcome: runOutcomeSchema,
  /** Of its log, in bytes. */
  logLength: z.number().int().nonnegative(),
});
export type KeptEnd = z.infer<typeof keptEndSchema>;

const ENGINE_OBJECTS = ['container', 'network'] as const;
const ENGINE_OBJECTS_GONE = ['container-gone', 'network-gone'] as const;

/**
 * The owner record of a job: `<dir>/jobs/<run>-<attempt>.<server>/owner.jsonl`, written before the namespace
 * is used and appended while the job runs. The guard dies with its process, the job's processes may
 * not: this file tells every later trimmer and sweep who they are. The first line is the identity,
 * each further line one thing that now exists. Only ever appended, so a torn last line is ignored.
 */
export const ownerIdentitySchema = z.object({
  version: z.literal(1),
  /** Id of the directory, from `<dir>/format.json`. */
  directory: z.string(),
  /** `/proc/sys/kernel/random/boot_id`: another one means that every process named here is gone. */
  bootId: z.string(),
  /** Inode of `/proc/self/ns/pid`: pids of another namespace cannot be looked up from here. */
  pidNamespace: z.string(),
  /** Name of the runner process, as in the seat that it holds while it lives. */
  process: z.string(),
  pid: z.number().int().positive(),
  /** Field 22 of `/proc/PID/stat`, clock ticks since boot. */
  pidStart: z.string(),
  run: z.number().int().positive(),
  attempt: z.number().int().positive(),
  /** The server's id from `welcome`: run numbers are that server's own. */
  server: z.string(),
  repository: z.string(),
  /** Account whose key leased the run: the sweep reports its runs as lost only by the same one. */
  account: z.string(),
  /** Name of the cache namespace. */
  namespace: z.string(),
  /** Name of the saved checkout whose objects the tree borrows, or null. */
  git: z.string().nullable(),
  cgroup: z.string().nullable(),
  marker: z.string(),
  startedAt: z.number(),
});
export type OwnerIdentity = z.infer<typeof ownerIdentitySchema>;

export const ownerEventSchema = z.discriminatedUnion('what', [
  z.object({ what: z.literal('group'), pgid: z.number().int().positive(), start: z.string() }),
  z.object({ what: z.literal('group-gone'), pgid: z.number().int().positive() }),
  /** Written before it is made: it may come to exist, or not. `id` is its name. */
  z.object({ what: z.enum(ENGINE_OBJECTS), engine: z.enum(ENGINES), id: z.string() }),
  z.object({ what: z.enum(ENGINE_OBJECTS_GONE), engine: z.enum(ENGINES), id: z.string() }),
  /** The last one counts. */
  keptEndSchema.extend({ what: z.literal('ended') }),
]);
export type OwnerEvent = z.infer<typeof ownerEventSchema>;

export interface OwnerRecord {
  readonly identity: OwnerIdentity;
  readonly groups: readonly { pgid: number; start: string }[];
  /** Containers and networks that may exist. */
  readonly engineObjects: readonly EngineObject[];
  /** Null where its runner died before the run had ended, or had been recorded. */
  readonly ended: KeptEnd | null;
}
