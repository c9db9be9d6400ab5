import type { ServerResponse } from 'node:http';
import type { SeenRequest } from './state.ts';

/**
 * How an answer goes wrong: a status, with `Retry-After` where wanted; `hang`, never an answer; `half`, a body
 * that ends in its middle; `drop`, a connection that is cut. `after`: what was asked for was done all the same.
 */
export interface Fault {
  readonly on: (request: Pick<SeenRequest, 'method' | 'path'>) => boolean;
  readonly kind: number | 'hang' | 'half' | 'drop';
  readonly after?: boolean;
  readonly retryAfter?: string;
  /** What the body says. */
  readonly message?: string;
  /** How often; without end by default. */
  readonly times?: number;
}

export class StandingFault {
  readonly fault: Fault;
  hits = 0;
  #lifted = false;
  readonly #held = new Set<() => void>();

  constructor(fault: Fault) {
    this.fault = fault;
  }

  applies(request: Pick<SeenRequest, 'method' | 'path'>): boolean {
    if (this.#lifted || this.hits >= (this.fault.times ?? Infinity)) return false;
    return this.fault.on(request);
  }

  /** From now on all is well; answers that hung are cut. */
  lift(): void {
    this.#lifted = true;
    for (const release of this.#held) release();
  }

  /** Answers wrongly. `right` is the body of the true answer. */
  async answer(response: ServerResponse, right: string): Promise<number | null> {
    this.hits += 1;
    const { kind } = this.fault;
    switch (kind) {
      case 'hang': {
        await new Promise<void>((resolve) => {
          this.#held.add(resolve);
          response.once('close', resolve);
        });
        response.destroy();
        return null;
      }
      case 'half': {
        const body = right.length > 1 ? right : '{"id": 1, "body": "half of"}';
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        });
        response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.destroy());
        return null;
      }
      case 'drop':
        response.destroy();
        return null;
      default: {
        const retry = this.fault.retryAfter === undefined ? {} : { 'retry-after': this.fault.retryAfter };
        response.writeHead(kind, { 'content-type': 'application/json', ...retry });
        response.end(JSON.stringify({ message: this.fault.message ?? `out of order: ${kind}` }));
        return kind;
      }
    }
  }
}
