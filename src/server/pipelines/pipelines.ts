import { refFault } from '../../shared/api-names.ts';
import { VoleError } from '../../shared/errors.ts';
import { chooseRuns } from '../../shared/workflow/choose.ts';
import { expandWorkflow } from '../../shared/workflow/expand.ts';
import { parseWorkflow, WORKFLOW_FILE } from '../../shared/workflow/parse.ts';
import { faultLines, type RunFacts } from '../../shared/workflow/types.ts';
import type { NewRun, Repository, Store } from '../store/store.ts';
import type { Mirror } from './mirror.ts';
import type { Mirrors } from './mirrors.ts';
import { readWorkflowFile, trustOf } from './workflow-file.ts';

export interface Submit {
  readonly repository: string;
  /** Branch, tag, full ref or commit; null takes the default branch. */
  readonly ref: string | null;
  /** Only these, by key or as they are shown, and what they need; empty takes all. */
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
  readonly #mirrors: Mirrors;

  constructor(store: Pick<Store, 'repositories' | 'runs'>, mirrors: Mirrors) {
    this.#store = store;
    this.#mirrors = mirrors;
  }

  /** Throws `VoleError` for what names nothing: repository, ref, file, job, or a URL that gives no answer. */
  async submit(request: Submit): Promise<Submitted> {
    const repository = await this.#store.repositories.get(request.repository);
    if (repository === null)
      throw new VoleError('not-found', `no repository ${request.repository}: \`vole repo ls\` lists them`);
    const wrongRef = request.ref === null ? null : refFault(request.ref);
    if (wrongRef !== null) throw new VoleError('usage', `ref refused: ${wrongRef}`);
    return this.#mirrors.use(repository, (mirror) => this.#submit(mirror, repository, request));
  }

  async #submit(mirror: Mirror, repository: Repository, request: Submit): Promise<Submitted> {
    await mirror.fetch();
    const at = await mirror.resolve(request.ref);
    const facts: RunFacts = {
      repository: repository.name,
      cloneUrl: repository.cloneUrl,
      ref: at.ref,
      sha: at.sha,
      event: 'manual',
      trust: await trustOf(mirror, at.sha),
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
    const file = await readWorkflowFile(mirror, facts.sha);
    switch (file.type) {
      case 'absent':
        throw new VoleError(
          'not-found',
          `${facts.repository} has no ${WORKFLOW_FILE} at ${facts.sha.slice(0, 12)}`,
        );
      case 'faulty':
        return { runs: [], fault: file.fault };
      case 'found':
        return planOf(file.text, facts, jobs);
      default:
        return file satisfies never;
    }
  }
}

/** The runs that a workflow file gives, or what is wrong with it. Throws where a named job is not in it. */
export function planOf(
  text: string,
  facts: RunFacts,
  jobs: readonly string[],
): { runs: readonly NewRun[]; fault: string | null } {
  const parsed = parseWorkflow(text, WORKFLOW_FILE);
  if (!parsed.ok) return { runs: [], fault: faultLines(parsed).join('\n') };
  const { workflow } = parsed;
  if (jobs.length === 0) return { runs: expandWorkflow(workflow, facts), fault: null };
  const choice = chooseRuns(workflow, jobs);
  if ('unknown' in choice)
    throw new VoleError('not-found', `${WORKFLOW_FILE} of ${facts.repository} has ${choice.unknown}`);
  return { runs: expandWorkflow(workflow, facts, choice.chosen), fault: null };
}
