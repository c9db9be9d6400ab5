import { oneLine, VoleError } from '../../shared/errors.ts';
import { commandRun } from '../../shared/workflow/expand.ts';
import { parseWorkflow, WORKFLOW_FILE } from '../../shared/workflow/parse.ts';
import { faultLine, type RunFacts } from '../../shared/workflow/types.ts';
import type { Mirror, ResolvedRef } from '../pipelines/mirror.ts';
import type { Mirrors } from '../pipelines/mirrors.ts';
import { readWorkflowFile, trustOf } from '../pipelines/workflow-file.ts';
import type { PreparedRun, Repository, Store } from '../store/store.ts';
import { serialKeyOf } from './comments.ts';
import type { CommandEvent } from './event.ts';
import type { WorkSource } from './repository-work.ts';

/** About half an hour. */
const TRIES_FOR_FETCH = 12;

interface CommandsParts {
  readonly store: Pick<Store, 'events' | 'repositories' | 'runs'>;
  readonly mirrors: Pick<Mirrors, 'use'>;
}

type Prepared = PreparedRun | { readonly fault: string };

/** Finds out what authorised commands execute: the job of that name in the workflow file, and at which commit. */
export class Commands implements WorkSource {
  readonly #store: CommandsParts['store'];
  readonly #mirrors: CommandsParts['mirrors'];

  constructor({ store, mirrors }: CommandsParts) {
    this.#store = store;
    this.#mirrors = mirrors;
  }

  waiting(): Promise<readonly string[]> {
    return this.#store.runs.repositoriesToPrepare();
  }

  async work(name: string, tries: number): Promise<void> {
    const { runs, repositories } = this.#store;
    const ids = await runs.toPrepare(name);
    const [first] = ids;
    if (first === undefined) return;
    const repository = await repositories.get(name);
    if (repository === null) {
      for (const id of ids) await runs.prepare(id, { fault: 'the repository was removed' });
      return;
    }
    try {
      await this.#mirrors.use(repository, async (mirror) => {
        await mirror.fetch();
        for (const id of ids) await runs.prepare(id, await this.#prepared(mirror, repository, id));
      });
    } catch (error) {
      const closing = error instanceof VoleError && error.code === 'interrupted';
      if (closing || tries < TRIES_FOR_FETCH) throw error;
      await runs.prepare(first, { fault: oneLine(error) });
      throw error;
    }
  }

  async #prepared(mirror: Mirror, repository: Repository, id: number): Promise<Prepared> {
    const run = await this.#store.runs.get(id);
    const stored = run === null ? null : await this.#store.events.ofPipeline(run.pipeline);
    if (stored?.event.kind !== 'command') return { fault: 'the comment that asked for it is not known' };
    return prepareCommand(mirror, repository, stored.event);
  }
}

async function prepareCommand(
  mirror: Mirror,
  repository: Pick<Repository, 'name' | 'cloneUrl'>,
  event: CommandEvent,
): Promise<Prepared> {
  const at = await commitOf(mirror, event);
  if (at === null) return { fault: `${refOf(event) ?? 'the default branch'} has no commit` };
  const { ref, sha } = at;
  const file = await readWorkflowFile(mirror, sha);
  const short = sha.slice(0, 12);
  if (file.type === 'absent') return { fault: `there is no ${WORKFLOW_FILE} at ${short}` };
  if (file.type === 'faulty') return { fault: file.fault };
  const parsed = parseWorkflow(file.text, WORKFLOW_FILE);
  if (!parsed.ok) return { fault: parsed.faults.map(faultLine)[0] ?? '' };
  const trust = await trustOf(mirror, sha);
  const facts: RunFacts = {
    repository: repository.name,
    cloneUrl: repository.cloneUrl,
    ref,
    sha,
    event: 'command',
    trust,
  };
  const serial = serialKeyOf(repository.name, event.issue);
  const run = commandRun(parsed.workflow, event.name, facts, { serial, env: envOf(event) });
  if (run !== null) return { ref, sha, trust, run };
  const known = parsed.workflow.commands.map((command) => command.id).join(', ') || 'none';
  return { fault: `${WORKFLOW_FILE} at ${short} has no command \`${event.name}\`; it has ${known}` };
}

function refOf(event: CommandEvent): string | null {
  return event.pull ? `refs/pull/${event.issue}/head` : null;
}

/** Of a pull request its head, of an issue the default branch. */
async function commitOf(mirror: Mirror, event: CommandEvent): Promise<ResolvedRef | null> {
  const ref = refOf(event);
  try {
    if (ref === null) return await mirror.resolve(null);
    const sha = await mirror.fetchHead(ref);
    return sha === null ? null : { ref, sha };
  } catch (error) {
    if (error instanceof VoleError && error.code === 'not-found') return null;
    throw error;
  }
}

/** What the job gets to know of the comment. */
function envOf(event: CommandEvent): Record<string, string> {
  return {
    VOLE_COMMAND: event.name,
    VOLE_COMMAND_MESSAGE: event.message,
    VOLE_COMMAND_AUTHOR: event.author,
    VOLE_ISSUE: String(event.issue),
    VOLE_ISSUE_IS_PULL: String(event.pull),
  };
}
