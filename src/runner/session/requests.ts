import type { ServerMessage } from '../../shared/protocol/messages.ts';
import type { Disconnect } from './session.ts';

type Type = ServerMessage['type'];
export type AnyReply = ServerMessage | { type: 'disconnected'; disconnect: Disconnect };

interface Pending {
  readonly expects: readonly Type[];
  readonly resolve: (reply: AnyReply) => void;
}

/** What was asked and not answered yet, in order: replies carry no key, the first one is the first's. */
export class Requests {
  readonly #pending: Pending[] = [];
  #idle: (() => void)[] = [];

  get outstanding(): number {
    return this.#pending.length;
  }

  add(expects: readonly Type[]): Promise<AnyReply> {
    return new Promise((resolve) => this.#pending.push({ expects, resolve }));
  }

  /** Null, or what is wrong with the reply. */
  answer(reply: ServerMessage): string | null {
    const first = this.#pending[0];
    if (!first) return `the server sent '${reply.type}' unasked`;
    if (!first.expects.includes(reply.type))
      return `the server answered '${reply.type}' instead of ${first.expects.map((type) => `'${type}'`).join(' or ')}`;
    this.#pending.shift();
    first.resolve(reply);
    if (this.#pending.length === 0) this.#wakeIdle();
    return null;
  }

  /** Resolves when nothing is outstanding. */
  async idle(): Promise<void> {
    while (this.#pending.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** The connection is gone: nobody knows what of it the server got. */
  disconnected(disconnect: Disconnect): void {
    for (const { resolve } of this.#pending.splice(0)) resolve({ type: 'disconnected', disconnect });
    this.#wakeIdle();
  }

  #wakeIdle(): void {
    for (const wake of this.#idle.splice(0)) wake();
  }
}
