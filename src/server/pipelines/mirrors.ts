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
    this.#dir = dir;
    this.#git = git;
  }

  /** Throws `interrupted` once the server closes. `ending` ends git as well, which then throws the same. */
  async use<T>(
    repository: Pick<Repository, 'name' | 'cloneUrl'>,
    task: (mirror: Mirror) => Promise<T>,
    ending?: AbortSignal,
  ): Promise<T> {
    const { signal } = this.#closing;
    return this.#turns.run(repository.name, async () => {
      if (signal.aborted) throw new VoleError('interrupted', 'the server is closing');
      // not `AbortSignal.any`, whose signals stay with the longest-lived of those that they are made of
      const either = new AbortController();
      const end = () => either.abort();
      for (const one of [signal, ending]) one?.addEventListener('abort', end, { once: true });
      if (ending?.aborted) end();
      try {
        const git: Git = async (args, options) => {
          const reply = await this.#git(args, { ...options, signal: either.signal });
          if (reply.ok || ending === undefined || !either.signal.aborted) return reply;
          throw new VoleError('interrupted', 'nobody waits for it any more');
        };
        return await task(new Mirror(this.#dir, repository, git));
      } catch (error) {
        // git that was ended says nothing about the repository
        if (signal.aborted) throw new VoleError('interrupted', 'the server is closing', { cause: error });
        throw error;
      } finally {
        for (const one of [signal, ending]) one?.removeEventListener('abort', end);
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
