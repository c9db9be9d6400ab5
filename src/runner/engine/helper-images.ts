import type { Trust } from '../../shared/job-spec.ts';

interface Use {
  readonly image: string;
  readonly trust: Trust;
  readonly lastUsed: number;
}

const MOST = 5;

/**
 * Images that jobs of this directory have used, for what only a container can do: remove what another
 * one wrote as root. Those of trusted jobs first, then the latest.
 */
export class HelperImages {
  readonly #uses = new Map<string, Use>();

  used(image: string, trust: Trust, lastUsed: number): void {
    const before = this.#uses.get(image);
    const trusted = trust === 'trusted' || before?.trust === 'trusted';
    this.#uses.set(image, { image, trust: trusted ? 'trusted' : 'untrusted', lastUsed });
  }

  candidates(): string[] {
    const order = (use: Use): number => (use.trust === 'trusted' ? 0 : 1);
    return [...this.#uses.values()]
      .sort((a, b) => order(a) - order(b) || b.lastUsed - a.lastUsed)
      .slice(0, MOST)
      .map(({ image }) => image);
  }
}
