import { z } from 'zod';
import { publishedSchema, publishRequestSchema } from '../agent/result.ts';
import { runOutcomeSchema } from '../outcome.ts';

/** The version this build speaks; a server also speaks the one before, a runner one newer or older. */
export const PROTOCOL_VERSION = 3;
export const OLDEST_PROTOCOL_VERSION = 2;
/** The first in which a runner may ask for a change to be pushed. */
export const PUBLISH_PROTOCOL_VERSION = 3;
/** The first in which a record may bring the last bytes of its log along, and a lease may follow it unanswered. */
export const RECORD_MORE_PROTOCOL_VERSION = 3;
export const EXEC_COMMAND = 'vole-runner';

/** Enforced on both sides; the server announces its own in `welcome`. */
export const LIMITS = {
  /** One JSON line without its newline. Env values of 100 KiB and many steps fit. */
  lineBytes: 8 * 1024 * 1024,
  /** Raw bytes after a line. */
  frameBytes: 256 * 1024,
} as const;

const runRef = { run: z.number().int().positive(), attempt: z.number().int().positive() };
const offset = z.number().int().nonnegative();
const frame = z.number().int().nonnegative().max(LIMITS.frameBytes);
const line = z.string().max(1000);

export const helloSchema = z.object({
  type: z.literal('hello'),
  protocol: z.number().int().positive(),
  version: z.string().max(100),
  machine: z.string().min(1).max(200),
  /** Of the runner process: unique on the machine, the same for all its sessions. */
  process: z.string().min(1).max(200),
  /** 0-based; -1 for the probe that a process makes before its slots. */
  slot: z.number().int().min(-1),
  slots: z.number().int().positive(),
  /** As many as a runner may be given, and the one that it offers by itself. */
  labels: z.array(z.string().max(100)).max(101).default([]),
  /** Globs over `owner/name`; empty takes every repository. */
  repos: z.array(z.string().max(300)).max(1000).default([]),
  engine: z.string().max(50).default('none'),
  cpus: z.number().positive().default(1),
  memoryBytes: z.number().nonnegative().default(0),
});

export const leaseSchema = z.object({
  type: z.literal('lease'),
  /** Chosen by the runner for each new lease, repeated after a reconnect: makes the request idempotent. */
  key: z.string().min(8).max(100),
  waitSeconds: z.number().int().min(0).max(60),
  freeCpus: z.number().nonnegative(),
  freeMemoryBytes: z.number().nonnegative(),
  /** Right behind a record: a job that is there at once is accepted with its reply, without a heartbeat. */
  accept: z.boolean().default(false),
});

/** What a runner sends. `bytes` raw bytes follow the line of a `log`, an `artifact` or a `record`. */
export const runnerMessageSchema = z.discriminatedUnion('type', [
  helloSchema,
  leaseSchema,
  z.object({ type: z.literal('heartbeat'), ...runRef }),
  z.object({ type: z.literal('log'), ...runRef, offset, bytes: frame }),
  z.object({
    type: z.literal('artifact'),
    ...runRef,
    name: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/),
    offset,
    bytes: frame,
    last: z.boolean(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable(),
  }),
  z.object({ type: z.literal('publish'), ...runRef, request: publishRequestSchema }),
  z.object({
    type: z.literal('record'),
    ...runRef,
    outcome: runOutcomeSchema,
    logLength: offset,
    /** Where in the log the bytes belong that come with it. */
    offset: offset.default(0),
    bytes: frame.default(0),
  }),
  z.object({ type: z.literal('bye') }),
]);
export type RunnerMessage = z.infer<typeof runnerMessageSchema>;
export type Hello = z.infer<typeof helloSchema>;
export type Lease = z.infer<typeof leaseSchema>;

/**
 * What a server replies, in the order of the requests.
 *
 * `refused` answers `hello` (too old, too new, a filter that matches nothing) and is final; `busy`
 * is retried; `error` says which limit or rule a message broke and is followed by the channel's end.
 */
export const serverMessageSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    session: z.string(),
    /** Eight hex digits, made with the server's data directory: whose run numbers these are. */
    server: z.string().regex(/^[0-9a-f]{8}$/),
    protocol: z.number().int().positive(),
    leaseSeconds: z.number().positive(),
    limits: z.object({ lineBytes: z.number().int().positive(), frameBytes: z.number().int().positive() }),
  }),
  z.object({ type: z.literal('refused'), code: z.enum(['protocol', 'repos', 'account']), why: line }),
  z.object({ type: z.literal('busy'), why: line }),
  /** `spec` is parsed by the runner with `jobSpecSchema`: one that does not parse makes it refuse. */
  z.object({ type: z.literal('job'), ...runRef, spec: z.unknown(), accepted: z.boolean().default(false) }),
  z.object({ type: z.literal('idle') }),
  z.object({
    type: z.literal('ok'),
    offset: offset.optional(),
    cancel: line.optional(),
    /** To `publish` alone. */
    published: publishedSchema.optional(),
  }),
  z.object({ type: z.literal('stale'), why: line }),
  z.object({ type: z.literal('error'), why: line }),
]);
export type ServerMessage = z.infer<typeof serverMessageSchema>;
