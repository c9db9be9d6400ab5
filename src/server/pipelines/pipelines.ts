import { refFault } from '../../shared/api-names.ts';
import { VoleError } from '../../shared/errors.ts';
import type { Trust } from '../../shared/job-spec.ts';
import { formatBytes } from '../../shared/units.ts';
import { expandWorkflow } from '../../shared/workflow/expand.ts';
import { WORKFLOW_LIMITS } from '../../shared/workflow/limits.ts';
import { parseWorkflow, WORKFLOW_FILE } from '../../shared/workflow/parse.ts';
import { faultLine, type RunFacts } from '../../shared/workflow/types.ts';
import type { NewRun, Repository, Store } from '../store/store.ts';
import type { Git } from './git.ts';
import { Mirror, type ResolvedRef } from './mirror.ts';
import { Turns } from './turns.ts';

export interface Submit {
  readonly repository: string;
  /** Branch, tag, full ref or commit; null takes the default branch. */
  readonly ref: string | null;
  /** Only these jobs and what they need; empty takes all. */
  readonly jobs: readonly string[];
}

export interface Submitted {
  readonly pipeline: number;
  readonly runs: readonly number[];
  /** The pipeline is failed and has no runs: `file:line:column: what`. */
  readonly fault: string | null;
}

/** Makes pipelines out of commits: mirror, resolve, read the workflow file, expand it, queue its runs. */
export class Pipelines {
  readonly #store: Pick<Store, 'repositories' | 'runs'>;
  readonly #mirrorsDir: string;
  readonly #git: Git;
  readonly #turns = new Turns();
  readonly #closing = new AbortController();

  constructor(parts: { store: Pick<Store, 'repositories' | 'runs'>; mirrorsDir: string; git: Git }) {
    this.#store = parts.store;
    this.#mirrorsDir = parts.mirrorsDir;
    const { signal } = this.#closing;
    this.#git = (args, options) => parts.git(args, { ...options, signal });
  }

  /** Throws `VoleError` for what names nothing: repository, ref, file, job, or a URL that gives no answer. */
  async submit(request: Submit): Promise<Submitted> {
    const repository = await this.#store.repositories.get(request.repository);
    if (repository === null)
      throw new VoleError('not-found', `no repository ${request.repository}: \`vole repo ls\` lists them`);
    const wrongRef = request.ref === null ? null : refFault(request.ref);
    if (wrongRef !== null) throw new VoleError('usage', `ref refused: ${wrongRef}`);
    return this.#turns.run(repository.name, () => this.#submit(repository, request));
  }

  /** Removes the copy of a repository that is registered no more, or elsewhere. */
  async forget(repository: Pick<Repository, 'name' | 'cloneUrl'>): Promise<void> {
    await this.#turns.run(repository.name, () =>
      new Mirror(this.#mirrorsDir, repository, this.#git).remove(),
    );
  }

  /** Ends git where it runs; what waits fails with it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#turns.idle();
  }

  async #submit(repository: Repository, request: Submit): Promise<Submitted> {
    if (this.#closing.signal.aborted) throw new VoleError('interrupted', 'the server is closing');
    const mirror = new Mirror(this.#mirrorsDir, repository, this.#git);
    await mirror.fetch();
    const at = await mirror.resolve(request.ref);
    const facts: RunFacts = {
      repository: repository.name,
      cloneUrl: repository.cloneUrl,
      ref: at.ref,
      sha: at.sha,
      event: 'manual',
      trust: await trustOf(mirror, at),
    };
    const plan = await this.#plan(mirror, facts, request.jobs);
    const created = await this.#store.runs.createPipeline({
      repository: facts.repository,
      event: facts.event,
      ref: facts.ref,
      sha: facts.sha,
      trust: facts.trust,
      title: await mirror.subject(at.sha),
      fault: plan.fault,
      runs: plan.runs,
    });
    return { ...created, fault: plan.fault };
  }

  async #plan(
    mirror: Mirror,
    facts: RunFacts,
    jobs: readonly string[],
  ): Promise<{ runs: readonly NewRun[]; fault: string | null }> {
    const file = await mirror.read(facts.sha, WORKFLOW_FILE, WORKFLOW_LIMITS.fileBytes);
    if (!file.found) {
      const most = formatBytes(WORKFLOW_LIMITS.fileBytes);
      switch (file.why) {
        case 'absent':
          throw new VoleError(
            'not-found',
            `${facts.repository} has no ${WORKFLOW_FILE} at ${facts.sha.slice(0, 12)}`,
          );
        case 'too-big':
          return { runs: [], fault: `${WORKFLOW_FILE}:1:1: the file is over ${most}; at most that is read` };
        case 'no-file':
          return { runs: [], fault: `${WORKFLOW_FILE}:1:1: expected a file, not a link or a directory` };
        default:
          return file.why satisfies never;
      }
    }
    return planOf(file.text, facts, jobs);
  }
}

/** The runs that a workflow file gives, or what is wrong with it. Throws where a named job is not in it. */
export function planOf(
  text: string,
  facts: RunFacts,
  jobs: readonly string[],
): { runs: readonly NewRun[]; fault: string | null } {
  const parsed = parseWorkflow(text, WORKFLOW_FILE);
  if (!parsed.ok) return { runs: [], fault: parsed.faults.map(faultLine).join('\n') };
  const known = parsed.workflow.jobs.map((job) => job.id);
  const unknown = jobs.find((job) => !known.includes(job));
  if (unknown !== undefined) {
    throw new VoleError(
      'not-found',
      `${WORKFLOW_FILE} of ${facts.repository} has no job \`${unknown}\`; it has ${known.join(', ')}`,
    );
  }
  return { runs: expandWorkflow(parsed.workflow, facts, jobs.length === 0 ? null : jobs), fault: null };
}

/**
 * Only what a branch or tag of the repository itself holds is trusted: a change that somebody proposed
 * stays untrusted though an administrator starts it, since it would get the secrets.
 */
async function trustOf(mirror: Mirror, at: ResolvedRef): Promise<Trust> {
  return (await mirror.isPublished(at.sha)) ? 'trusted' : 'untrusted';
}
