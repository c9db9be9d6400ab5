import type { Permission } from '../forges/client.ts';
import type { Task } from '../store/control.ts';
import { done, failed, type TaskHandler, type TaskResult } from './handler.ts';
import type { ControlParts } from './parts.ts';

/** Who may give commands. */
export function mayCommand(permission: Permission): boolean {
  return permission === 'write' || permission === 'admin' || permission === 'owner';
}

export function refusal(author: string, permission: Permission): string {
  const has = permission === 'none' ? 'no permission' : `${permission} permission`;
  return `${author} has ${has} here, and commands take write, admin or owner`;
}

/** Asks the forge what the author of a command may do. Fails closed: who cannot be asked about is refused. */
export class AuthoriseHandler implements TaskHandler<'authorise'> {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async perform(task: Task<'authorise'>): Promise<TaskResult> {
    const { store, clients } = this.#parts;
    const { run: id } = task.payload;
    const run = await store.runs.get(id);
    const command = await store.commands.of(id);
    const found = await clients.for(task.repository);
    if (run?.state !== 'received' || command === null || found === null) return done();
    const permission = await found.client.permission(command.author);
    if (!permission.ok) return failed(permission);
    const allowed = mayCommand(permission.value);
    await store.runs.authorise(id, allowed, allowed ? '' : refusal(command.author, permission.value));
    return done();
  }

  /** So that it does not hold back the later ones of its issue for ever. */
  async gaveUp(task: Task<'authorise'>, why: string): Promise<void> {
    const detail = `the forge did not say what its author may do: ${why}`;
    await this.#parts.store.runs.authorise(task.payload.run, false, detail.slice(0, 500));
  }
}
