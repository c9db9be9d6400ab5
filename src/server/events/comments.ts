import type { EventResult, StoredEvent } from '../store/event-store.ts';
import type { Store, UnpreparedRun } from '../store/store.ts';
import type { CommandEvent, CommentEvent } from './event.ts';
import type { WorkSource } from './repository-work.ts';

/** Events settled by one commit, during which nobody else is served. */
const BATCH = 20;

/**
 * Comments to commands, in the order received. It asks nobody: whether the author may is asked later, and
 * what the command executes is read after that, so that a stranger's comment costs neither.
 */
export class Comments implements WorkSource {
  readonly #store: Pick<Store, 'events' | 'repositories' | 'tasks'>;

  constructor(store: Pick<Store, 'events' | 'repositories' | 'tasks'>) {
    this.#store = store;
  }

  waiting(): Promise<readonly string[]> {
    return this.#store.events.repositoriesPending('comments');
  }

  async work(repository: string): Promise<void> {
    const { events, repositories, tasks } = this.#store;
    const known = (await repositories.get(repository)) !== null;
    const pending = await events.pending('comments', BATCH, repository);
    // done twice where the process is killed in between, which shows once
    for (const { event } of pending)
      if (event.kind === 'comment-deleted') await tasks.commentDeleted(repository, event.body);
    // asked for in one turn, they are written in this order by one commit
    await Promise.all(
      pending.map((event) =>
        events.settle(event.id, known ? resultOf(event) : { result: 'nothing: the repository was removed' }),
      ),
    );
  }
}

function resultOf({ repository, event }: StoredEvent): EventResult {
  const asked = event as CommentEvent;
  switch (asked.kind) {
    case 'command':
      return { result: 'a command', pipeline: commandPipeline(repository, asked) };
    case 'abort':
      return {
        result: 'an abort',
        abort: { issue: asked.issue, comment: asked.comment, author: asked.author },
      };
    case 'comment-deleted':
      return { result: "a comment of vole's own was deleted" };
    default:
      return asked satisfies never;
  }
}

/** Commands of one issue or pull request go one at a time, in the order received. */
export function serialKeyOf(repository: string, issue: number): string {
  return `${repository}#${issue}`;
}

/** What it executes, and at which commit, is not known before it is prepared. */
function commandPipeline(repository: string, event: CommandEvent) {
  const { issue, comment, author, name, pull } = event;
  const run: UnpreparedRun = {
    key: name,
    job: name,
    needs: [],
    labels: [],
    cpus: 1,
    memoryBytes: 0,
    serial: serialKeyOf(repository, issue),
    retryLost: false,
    failFast: null,
    kind: 'command',
    state: 'received',
    command: { issue, comment, author, name },
    spec: null,
  };
  return {
    repository,
    event: 'command',
    ref: pull ? `refs/pull/${issue}/head` : '',
    sha: '',
    trust: 'untrusted',
    title: `${name} for #${issue}, asked by ${author}`,
    fault: null,
    runs: [run],
  } as const;
}
