import { z } from 'zod';
import { agentResultSchema } from './agent/result.ts';

/** States of a run. The last six are final. */
export const RUN_STATES = [
  'received',
  'queued',
  'running',
  'passed',
  'failed',
  'timed-out',
  'cancelled',
  'refused',
  'lost',
] as const;
export type RunState = (typeof RUN_STATES)[number];
export type FinalState = Exclude<RunState, 'received' | 'queued' | 'running'>;

export function isFinal(state: RunState): state is FinalState {
  return state !== 'received' && state !== 'queued' && state !== 'running';
}

/**
 * Why a run or step ended as it did, for programs. `detail` beside it is for people.
 *
 * - `exit`: the process ended with a non-zero code; `signal`: a signal ended it
 * - `command-not-found` / `not-executable`: the shell's 127 and 126 where the shell itself said so
 * - `image`: it could not be pulled or built
 * - `checkout`, `artifact`, `spawn`: that part failed; `disk-full`: ENOSPC while doing it
 * - `timeout`: a step's or the run's; `cancelled`: by a person; `interrupted`: the runner had to stop
 * - `service`: one of the job's services did not become ready
 * - `not-allowed`: this run alone may not run here (an untrusted run on the host)
 * - `workflow`: the workflow file at the commit has a fault, or not the command that was asked for
 * - `bad-job`: the spec is not understood; `worker-died`: the thread ended; `lost`: the lease expired
 * - `agent`: its turns did not lead to what was asked for; `provider`: the model's service failed
 * - `agent-tools`: an install script failed; `push`: the change could not be pushed
 * - `host`: the runner's host could not prepare the job (a directory, a lock, a descriptor)
 */
export const REASONS = [
  'exit',
  'signal',
  'command-not-found',
  'not-executable',
  'out-of-memory',
  'checkout',
  'artifact',
  'spawn',
  'disk-full',
  'timeout',
  'cancelled',
  'interrupted',
  'not-allowed',
  'workflow',
  'bad-job',
  'worker-died',
  'engine',
  'service',
  'image',
  'agent',
  'agent-tools',
  'provider',
  'push',
  'host',
  'lost',
] as const;
export type Reason = (typeof REASONS)[number];

export const stepOutcomeSchema = z.object({
  name: z.string(),
  result: z.enum(['passed', 'failed', 'timed-out', 'cancelled', 'skipped']),
  /** What the process ended with; null where it was ended by a signal or never ran. */
  exitCode: z.number().int().nullable(),
  signal: z.string().nullable(),
  reason: z.enum(REASONS).nullable(),
  detail: z.string().max(500),
  durationMs: z.number().nonnegative(),
});
export type StepOutcome = z.infer<typeof stepOutcomeSchema>;

/**
 * What a runner records for a run. `interrupted` gives it back to be queued again without counting
 * as lost; `lost` is what a runner reports of a dead predecessor's run, the same as an expired lease.
 */
export const runOutcomeSchema = z.object({
  result: z.enum(['passed', 'failed', 'timed-out', 'cancelled', 'refused', 'interrupted', 'lost']),
  reason: z.enum(REASONS).nullable(),
  /** One line for people; empty where it passed. */
  detail: z.string().max(500),
  steps: z.array(stepOutcomeSchema).max(1000),
  durationMs: z.number().nonnegative(),
  /** Of an agent run that came so far. */
  agent: agentResultSchema.nullable().optional(),
});
export type RunOutcome = z.infer<typeof runOutcomeSchema>;
