import type { Task } from '../store/control.ts';
import { mayCommand, refusal } from './authorise.ts';
import { done, failed, type TaskHandler, type TaskResult } from './handler.ts';
import type { ControlParts } from './parts.ts';

/**
 * Ends the unfinished commands of an issue that were received before the comment that asks for it. The runs'
 * own comments then say so; another answers only where there was nothing to end, or who asked may not.
 */
export class AbortHandler implements TaskHandler<'abort'> {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async perform(task: Task<'abort'>): Promise<TaskResult> {
    const { store, clients } = this.#parts;
    const { issue, author, comment, upToRun } = task.payload;
    const found = await clients.for(task.repository);
    if (found === null) return done();
    const permission = await found.client.permission(author);
    if (!permission.ok) return failed(permission);
    if (!mayCommand(permission.value)) return this.#answer(task, refusal(author, permission.value));
    // Names the comment, by which an attempt that was cut short is known again.
    const why = `aborted by ${author} (comment ${comment})`;
    const runs = await store.commands.unfinished(task.repository, issue, upToRun);
    for (const run of runs) await store.runs.cancel(run, why);
    const did = runs.length > 0 || (await store.commands.anyCancelled(task.repository, issue, why));
    return did ? done() : this.#answer(task, 'nothing to abort: no command waits or runs here');
  }

  async #answer(task: Task<'abort'>, text: string): Promise<TaskResult> {
    const { repository, subject, payload } = task;
    await this.#parts.store.tasks.request({
      kind: 'reply',
      repository,
      subject,
      payload: { issue: payload.issue, text },
    });
    return done();
  }
}
