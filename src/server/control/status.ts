import type { CommitStatus } from '../forges/client.ts';
import type { Task } from '../store/control.ts';
import { done, failed, type TaskHandler, type TaskResult } from './handler.ts';
import type { ControlParts } from './parts.ts';
import { hiderOf } from './parts.ts';
import { sameStatus, statusOfFault, statusOfRun } from './wanted-status.ts';

/**
 * Brings one context of a commit to what the latest run of that job is at. It remembers what it set; where an
 * earlier attempt's fate is not known it looks first, so nothing is set twice.
 */
export class StatusHandler implements TaskHandler<'status'> {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async perform(task: Task<'status'>): Promise<TaskResult> {
    const found = await this.#parts.clients.for(task.repository);
    const wanted = await this.#wanted(task);
    if (found === null || wanted === null) return done();
    if (!task.unsure && JSON.stringify(task.memory) === JSON.stringify(wanted)) return done(wanted);
    const { sha } = task.payload;
    if (task.unsure) {
      const there = await found.client.status(sha, wanted.context);
      if (!there.ok) return failed(there);
      if (there.value !== null && sameStatus(there.value, wanted)) return done(wanted);
    }
    const set = await found.client.setStatus(sha, wanted);
    return set.ok ? done(wanted) : failed(set);
  }

  async #wanted({ repository, payload }: Task<'status'>): Promise<CommitStatus | null> {
    const { store, publicUrl } = this.#parts;
    const hide = await hiderOf(this.#parts, repository);
    if (payload.key === '') {
      const fault = await store.runs.latestFaultAt(repository, payload.sha);
      return fault && statusOfFault(fault.fault, fault.pipeline, publicUrl, hide);
    }
    const run = await store.runs.latestAt(repository, payload.sha, payload.key);
    return run && statusOfRun(run, publicUrl, hide);
  }
}
