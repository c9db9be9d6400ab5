import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Trust } from '../../shared/job-spec.ts';
import { commandRun } from '../../shared/workflow/expand.ts';
import { parseWorkflow, WORKFLOW_FILE } from '../../shared/workflow/parse.ts';
import { faultLine, type RunFacts, type Workflow } from '../../shared/workflow/types.ts';
import type { ForgeClients } from '../forges/clients.ts';
import type { Mirror, ResolvedRef } from '../pipelines/mirror.ts';
import type { Mirrors } from '../pipelines/mirrors.ts';
import { readWorkflowFile, trustOf } from '../pipelines/workflow-file.ts';
import type { PreparedRun, Repository, Store } from '../store/store.ts';
import { prepareAgent } from './agent-command.ts';
import { readTarget } from './agent-target.ts';
import { serialKeyOf } from './comments.ts';
import type { CommandEvent } from './event.ts';
import type { WorkSource } from './repository-work.ts';

/** Commands prepared after one fetch. */
const BATCH = 100;
/** About half an hour. */
const TRIES_FOR_FETCH = 12;

interface CommandsParts {
  readonly store: Pick<Store, 'events' | 'repositories' | 'runs' | 'agents'>;
  readonly mirrors: Pick<Mirrors, 'use'>;
  /** With them, agents carry out the commands that a repository does not define; null: nobody does. */
  readonly agentClients: Pick<ForgeClients, 'for'> | null;
}

type Prepared = PreparedRun | { readonly fault: string };
/** An agent's: the repository does not define the command. */
interface ForAgent {
  readonly id: number;
  readonly event: CommandEvent;
}

/**
 * Finds out what authorised commands execute: the job of that name in the workflow file, and at which commit;
 * or an agent, where the server has agents and the file has no such job. With agents each is prepared when its
 * turn on its issue has come, since it builds on what those before it leave: a plan, a branch.
 */
export class Commands implements WorkSource {
  readonly #store: CommandsParts['store'];
  readonly #mirrors: CommandsParts['mirrors'];
  readonly #agentClients: CommandsParts['agentClients'];

  constructor({ store, mirrors, agentClients }: CommandsParts) {
    this.#store = store;
    this.#mirrors = mirrors;
    this.#agentClients = agentClients;
  }

  waiting(): Promise<readonly string[]> {
    return this.#store.runs.repositoriesToPrepare(this.#agentClients !== null);
  }

  async work(name: string, tries: number): Promise<void> {
    const { runs, repositories } = this.#store;
    const ids = await runs.toPrepare(name, this.#agentClients !== null);
    const [first] = ids;
    if (first === undefined) return;
    const repository = await repositories.get(name);
    if (repository === null) {
      for (const id of ids) await runs.prepare(id, { fault: 'the repository was removed' });
      return;
    }
    const forAgents: ForAgent[] = [];
    try {
      await this.#mirrors.use(repository, async (mirror) => {
        await mirror.fetch();
        const sources = new Sources(mirror);
        for (const id of ids.slice(0, BATCH)) {
          const prepared = await this.#prepared(sources, repository, id);
          if ('event' in prepared) forAgents.push(prepared);
          else await runs.prepare(id, prepared);
        }
      });
    } catch (error) {
      const closing = error instanceof VoleError && error.code === 'interrupted';
      if (closing || tries < TRIES_FOR_FETCH) throw error;
      await runs.prepare(first, { fault: oneLine(error) });
      throw error;
    }
    await this.#prepareAgents(repository, forAgents, tries);
  }

  /** Each for itself; what failed is thrown when all were tried. The forge is asked outside the mirror's turn. */
  async #prepareAgents(repository: Repository, forAgents: readonly ForAgent[], tries: number): Promise<void> {
    const failures: unknown[] = [];
    for (const { id, event } of forAgents) {
      try {
        await this.#store.runs.prepare(id, await this.#agentRun(repository, event));
      } catch (error) {
        const closing = error instanceof VoleError && error.code === 'interrupted';
        if (closing) throw error;
        if (tries < TRIES_FOR_FETCH) failures.push(error);
        else await this.#store.runs.prepare(id, { fault: oneLine(error) });
      }
    }
    const [failure] = failures;
    if (failure !== undefined) throw failure;
  }

  async #agentRun(repository: Repository, event: CommandEvent): Promise<Prepared> {
    const { agents } = this.#store;
    if (this.#agentClients === null) return { fault: 'this server has no agents' };
    const read = await readTarget(this.#agentClients, repository.name, event);
    if ('fault' in read) return read;
    const { name } = repository;
    const memory = {
      plan: await agents.planOf(name, event.issue),
      session: event.name === 'fix' ? null : await agents.sessionOf(name, event.issue, event.name),
    };
    return this.#mirrors.use(repository, async (mirror) => {
      await mirror.fetch();
      return prepareAgent(mirror, repository, event, read, memory);
    });
  }

  async #prepared(sources: Sources, repository: Repository, id: number): Promise<Prepared | ForAgent> {
    const run = await this.#store.runs.get(id);
    const stored = run === null ? null : await this.#store.events.ofPipeline(run.pipeline);
    if (stored?.event.kind !== 'command') return { fault: 'the comment that asked for it is not known' };
    const { event } = stored;
    return prepareCommand(sources, repository, event, this.#agentClients && { id, event });
  }
}

type Source =
  /** `workflow` is null where there is no file. */
  | { readonly at: ResolvedRef; readonly trust: Trust; readonly workflow: Workflow | null }
  | { readonly fault: string };

/** What commands are read from, each place once: commands of many issues come from the same commit. */
class Sources {
  readonly #mirror: Mirror;
  readonly #read = new Map<string | null, Source>();

  constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  /** Of a ref, or of the default branch where it is null. */
  async at(ref: string | null): Promise<Source> {
    const source = this.#read.get(ref) ?? (await this.#source(ref));
    this.#read.set(ref, source);
    return source;
  }

  async #source(ref: string | null): Promise<Source> {
    const at = await this.#commitOf(ref);
    if (at === null) return { fault: `${ref ?? 'the default branch'} has no commit` };
    const file = await readWorkflowFile(this.#mirror, at.sha);
    const trust = await trustOf(this.#mirror, at.sha);
    if (file.type === 'absent') return { at, trust, workflow: null };
    if (file.type === 'faulty') return { fault: file.fault };
    const parsed = parseWorkflow(file.text, WORKFLOW_FILE);
    if (!parsed.ok) return { fault: parsed.faults.map(faultLine)[0] ?? '' };
    return { at, trust, workflow: parsed.workflow };
  }

  async #commitOf(ref: string | null): Promise<ResolvedRef | null> {
    try {
      if (ref === null) return await this.#mirror.resolve(null);
      const sha = await this.#mirror.fetchHead(ref);
      return sha === null ? null : { ref, sha };
    } catch (error) {
      if (error instanceof VoleError && error.code === 'not-found') return null;
      throw error;
    }
  }
}

async function prepareCommand(
  sources: Sources,
  repository: Pick<Repository, 'name' | 'cloneUrl'>,
  event: CommandEvent,
  forAgent: ForAgent | null,
): Promise<Prepared | ForAgent> {
  // of a pull request its head, of an issue the default branch
  const source = await sources.at(event.pull ? `refs/pull/${event.issue}/head` : null);
  if ('fault' in source) return source;
  const { at, trust, workflow } = source;
  const { ref, sha } = at;
  if (workflow === null) return forAgent ?? { fault: `there is no ${WORKFLOW_FILE} at ${short(sha)}` };
  const { name, cloneUrl } = repository;
  const facts: RunFacts = { repository: name, cloneUrl, ref, sha, event: 'command', trust };
  const serial = serialKeyOf(name, event.issue);
  const run = commandRun(workflow, event.name, facts, { serial, env: envOf(event) });
  if (run !== null) return { ref, sha, trust, run };
  if (forAgent !== null) return forAgent;
  const known = workflow.commands.map((command) => command.id).join(', ') || 'none';
  return { fault: `${WORKFLOW_FILE} at ${short(sha)} has no command \`${event.name}\`; it has ${known}` };
}

function short(sha: string): string {
  return sha.slice(0, 12);
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
