import { oneLine } from '../../shared/errors.ts';
import type { ForgeClients } from '../forges/clients.ts';
import type { Mirrors } from '../pipelines/mirrors.ts';
import type { RunEventHub } from '../queue/run-event-hub.ts';
import type { Store } from '../store/store.ts';
import { Changes } from './changes.ts';
import { Commands } from './commands.ts';
import { Comments } from './comments.ts';
import { backoffMs, RepositoryWork, restAfterGit, type WorkSource } from './repository-work.ts';

interface EventWorkParts {
  readonly store: Store;
  readonly mirrors: Pick<Mirrors, 'use'>;
  /** Null where no agent carries out commands. */
  readonly agentClients: Pick<ForgeClients, 'for'> | null;
  /** The one that the store was opened with. */
  readonly hub: Pick<RunEventHub, 'onChange'>;
  readonly log: { warn(facts: object, text: string): void };
}

/** Repositories of which git reads at once: each takes a core for a moment. */
const GIT_AT_ONCE = 2;

/**
 * What becomes of events after they were received: comments to commands, which waits for nothing; pushes
 * and pull requests to pipelines; authorised commands to queued runs. Begins with what a process before
 * left undone.
 */
export class EventWork {
  readonly #comments: RepositoryWork;
  readonly #changes: RepositoryWork;
  readonly #commands: RepositoryWork;
  readonly #unsubscribe: () => void;

  constructor(parts: EventWorkParts) {
    const { store, hub, log } = parts;
    const worked = (source: WorkSource, what: string, atOnce: number, restMs: (tookMs: number) => number) =>
      new RepositoryWork({
        source,
        atOnce,
        restMs,
        backoffMs,
        onFault: (error, repository, tries) =>
          log.warn({ repository, tries, error: oneLine(error) }, `${what} is tried again later`),
      });
    this.#comments = worked(new Comments(store), 'a comment', 1, () => 0);
    this.#changes = worked(new Changes(parts), 'a push or pull request', GIT_AT_ONCE, restAfterGit);
    this.#commands = worked(new Commands(parts), 'a command', GIT_AT_ONCE, restAfterGit);
    this.#unsubscribe = hub.onChange(() => this.#commands.poke());
    this.received();
    this.#commands.poke();
  }

  /** Something is new among the events. */
  received(): void {
    this.#comments.poke();
    this.#changes.poke();
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([this.#comments.close(), this.#changes.close(), this.#commands.close()]);
  }
}
