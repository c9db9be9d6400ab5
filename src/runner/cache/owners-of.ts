import { readdirSync } from 'node:fs';
import path from 'node:path';
import { readOwner } from '../../shared/owner-file.ts';
import { NEW_PREFIX } from '../dir/job-tree.ts';
import { hostFacts, ownerState } from '../sweep/owner-state.ts';

/**
 * Whether a job's processes may still use something though no guard says so: after a SIGKILL of its
 * runner the guard is gone at once and the processes are not. Asked after a grant, before a removal.
 */
export class OwnersOf {
  readonly #jobs: string;

  constructor(jobs: string) {
    this.#jobs = jobs;
  }

  ofNamespace(name: string): boolean {
    return this.#anyMayLive((owner) => owner.namespace === name);
  }

  ofSavedCheckout(name: string): boolean {
    return this.#anyMayLive((owner) => owner.git === name);
  }

  #anyMayLive(uses: (owner: { namespace: string; git: string | null }) => boolean): boolean {
    const facts = hostFacts();
    return readdirSync(this.#jobs).some((name) => {
      if (name.startsWith(NEW_PREFIX)) return false;
      const record = readOwner(path.join(this.#jobs, name));
      if (record === null) return false;
      // A record that cannot be read names nothing: it may be anybody's.
      if (record === 'unreadable') return true;
      if (!uses(record.identity)) return false;
      const state = ownerState(record, facts);
      // A live owner holds its guard while it uses the thing: the grant has shown that it does not.
      return state === 'leftovers' || state === 'unknown';
    });
  }
}
