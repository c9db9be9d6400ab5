import { VoleError } from '../../shared/errors.ts';
import type { Repository } from '../store/store.ts';
import type { Git } from './git.ts';
import { Mirror } from './mirror.ts';
import { Turns } from './turns.ts';

/** The server's copies of repositories; of each, one operation at a time. */
export class Mirrors {
  readonly #dir: string;
  readonly #git: Git;
  readonly #turns = new Turns();
  readonly #closing = new AbortController();

  constructor(dir: string, git: Git) {
    const { signal } = this.#closing;
    this.#dir = dir;
    this.#git = (args, options) => git(args, { ...options, signal });
  }

  /** Throws `interrupted` once the server closes. */
  async use<T>(
    repository: Pick<Repository, 'name' | 'cloneUrl'>,
    task: (mirror: Mirror) => Promise<T>,
  ): Promise<T> {
    const { signal } = this.#closing;
    return this.#turns.run(repository.name, async () => {
      if (signal.aborted) throw new VoleError('interrupted', 'the server is closing');
      try {
        return await task(new Mirror(this.#dir, repository, this.#git));
      } catch (error) {
        // git that was ended says nothing about the repository
        if (signal.aborted) throw new VoleError('interrupted', 'the server is closing', { cause: error });
        throw error;
      }
    });
  }

  /** Removes the copy of a repository that is registered no more, or elsewhere. */
  async forget(repository: Pick<Repository, 'name' | 'cloneUrl'>): Promise<void> {
    await this.#turns.run(repository.name, () => new Mirror(this.#dir, repository, this.#git).remove());
  }

  /** Ends git where it runs; what waits fails with it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#turns.idle();
  }
}
