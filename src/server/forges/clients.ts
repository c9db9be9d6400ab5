import type { Clock } from '../../shared/platform/clock.ts';
import type { Forge, ForgeStore } from '../store/control.ts';
import { ForgeApi, LIMITS } from './api.ts';
import type { ForgeClient } from './client.ts';
import type { HttpLimits } from './http.ts';
import { RateGate } from './rate-gate.ts';
import { RestForgeClient } from './rest-client.ts';
import { readToken } from './token-file.ts';

export interface ForgeClientsParts {
  readonly forges: Pick<ForgeStore, 'get'>;
  readonly clock: Clock;
  readonly limits?: HttpLimits;
}

/** Clients of the repositories' forges. Those that share an API and a token share its limit as well. */
export class ForgeClients {
  readonly #parts: ForgeClientsParts;
  readonly #gates = new Map<string, RateGate>();
  readonly #closing = new AbortController();

  constructor(parts: ForgeClientsParts) {
    this.#parts = parts;
  }

  /** Null where the repository has no forge. */
  async for(repository: string): Promise<{ forge: Forge; client: ForgeClient } | null> {
    const forge = await this.#parts.forges.get(repository);
    return forge === null ? null : { forge, client: this.of(forge) };
  }

  /** Of settings that need not be stored yet. */
  of(forge: Pick<Forge, 'kind' | 'apiUrl' | 'project' | 'tokenFile'>): ForgeClient {
    const api = new ForgeApi({
      kind: forge.kind,
      apiUrl: forge.apiUrl,
      token: () => readToken(forge.tokenFile),
      gate: this.#gateOf(`${forge.apiUrl} ${forge.tokenFile}`),
      signal: this.#closing.signal,
      limits: this.#parts.limits ?? LIMITS,
    });
    return new RestForgeClient(api, forge.project);
  }

  /** Ends the requests that are on their way. */
  close(): void {
    this.#closing.abort();
  }

  #gateOf(key: string): RateGate {
    const known = this.#gates.get(key);
    if (known) return known;
    const gate = new RateGate(this.#parts.clock);
    this.#gates.set(key, gate);
    return gate;
  }
}
