import { VoleError } from '../../shared/errors.ts';
import type { Mirrors } from '../pipelines/mirrors.ts';
import type { Store } from '../store/store.ts';
import { planChange, unreadable } from './change-plan.ts';
import type { ChangeEvent } from './event.ts';
import type { WorkSource } from './repository-work.ts';

/** Events worked on after one fetch. */
const BATCH = 50;
/** A commit that is not there yet may be by then: a forge that is several machines is not of one mind at once. */
const TRIES_FOR_COMMIT = 3;
/** About half an hour. */
const TRIES_FOR_FETCH = 12;

interface ChangesParts {
  readonly store: Pick<Store, 'events' | 'repositories'>;
  readonly mirrors: Pick<Mirrors, 'use'>;
}

/** Pushes and pull requests to pipelines, of each repository in the order received. */
export class Changes implements WorkSource {
  readonly #store: ChangesParts['store'];
  readonly #mirrors: ChangesParts['mirrors'];

  constructor({ store, mirrors }: ChangesParts) {
    this.#store = store;
    this.#mirrors = mirrors;
  }

  waiting(): Promise<readonly string[]> {
    return this.#store.events.repositoriesPending('changes');
  }

  async work(name: string, tries: number): Promise<void> {
    const { events, repositories } = this.#store;
    const pending = await events.pending('changes', BATCH, name);
    const [first] = pending;
    if (first === undefined) return;
    const repository = await repositories.get(name);
    if (repository === null) {
      for (const { id } of pending)
        await events.settle(id, { result: 'nothing: the repository was removed' });
      return;
    }
    try {
      await this.#mirrors.use(repository, async (mirror) => {
        await mirror.fetch();
        for (const { id, event } of pending) {
          const plan = await planChange(mirror, repository, event as ChangeEvent);
          if (plan === 'gone' && id === first.id && tries < TRIES_FOR_COMMIT)
            throw new Error('the commit is not in the repository');
          if (plan === 'gone' && id !== first.id) return; // becomes the first, with tries of its own
          await events.settle(
            id,
            plan === 'gone' ? { result: 'nothing: the commit is not in the repository' } : plan,
          );
        }
      });
    } catch (error) {
      const closing = error instanceof VoleError && error.code === 'interrupted';
      if (closing || tries < TRIES_FOR_FETCH) throw error;
      await events.settle(first.id, unreadable(repository, first.event as ChangeEvent, error));
      throw error;
    }
  }
}
