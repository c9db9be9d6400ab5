import type { TaskKind } from '../../shared/api-forge.ts';
import type { ForgeFailure } from '../forges/reply.ts';
import type { Task } from '../store/control.ts';

/** How one attempt at a task went. */
export type TaskResult =
  /** The wanted effect is there. `memory` is given to the next attempt at the same task. */
  | { readonly type: 'done'; readonly memory: unknown }
  /** To be tried again, unless it was tried often enough. */
  | ({ readonly type: 'failed' } & Pick<ForgeFailure, 'why' | 'retryAfterMs' | 'asked'>)
  /** Trying again would not help. */
  | { readonly type: 'impossible'; readonly why: string };

export interface TaskHandler<Kind extends TaskKind> {
  /** May be repeated after any part of it was done: the process may have been killed there. */
  perform(task: Task<Kind>): Promise<TaskResult>;
  /** Before it is dead. */
  gaveUp?(task: Task<Kind>, why: string): Promise<void>;
}

export type TaskHandlers = { readonly [Kind in TaskKind]: TaskHandler<Kind> };

export function done(memory: unknown = null): TaskResult {
  return { type: 'done', memory };
}

export function failed({ why, retryAfterMs, asked }: ForgeFailure): TaskResult {
  return { type: 'failed', why, retryAfterMs, asked };
}
