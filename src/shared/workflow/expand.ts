import type { ServiceSpec } from '../job-spec.ts';
import { putIn } from './expressions.ts';
import type {
  ChosenRuns,
  ExpandedRun,
  MatrixEntry,
  RunFacts,
  Workflow,
  WorkflowJob,
  WorkflowStep,
} from './types.ts';

/**
 * The runs that an event makes of the workflow's jobs, one for each matrix entry. `needs` of a job
 * with a matrix means all its entries. Only those that were `chosen`, or all where it is null.
 */
export function expandWorkflow(
  workflow: Workflow,
  facts: RunFacts,
  chosen: ChosenRuns | null = null,
): ExpandedRun[] {
  const made = workflow.jobs.map((job) => {
    const keys = chosen === null ? 'all' : (chosen.get(job.id) ?? new Set());
    return { job, runs: runsOfJob(workflow, job, facts, keys) };
  });
  const keys = new Map(made.map(({ job, runs }) => [job.id, runs.map((run) => run.key)]));
  return made.flatMap(({ job, runs }) =>
    runs.map((run) => ({ ...run, needs: job.needs.flatMap((need) => keys.get(need) ?? []) })),
  );
}

/**
 * The run of a command, or null where the workflow has none of this name. `serial` holds it back behind
 * earlier ones of its issue; `env` is what the comment said, over the workflow's own.
 */
export function commandRun(
  workflow: Workflow,
  name: string,
  facts: RunFacts,
  asked: { readonly serial: string; readonly env: Readonly<Record<string, string>> },
): ExpandedRun | null {
  const job = workflow.commands.find((command) => command.id === name);
  const [run] = job === undefined ? [] : runsOfJob(workflow, job, facts);
  if (run === undefined) return null;
  const spec = { ...run.spec, env: { ...run.spec.env, ...asked.env } };
  return { ...run, kind: 'command', serial: asked.serial, spec };
}

/** What each run of a job is called: its key within the pipeline, which is its own, and what people are shown. */
export function runNames(job: WorkflowJob): { key: string; shown: string; entry: MatrixEntry }[] {
  const seen = new Map<string, number>();
  return (job.matrix ?? [null]).map((entry) => {
    const plain = entry === null ? job.id : `${job.id} (${Object.values(entry).join(', ')})`;
    const before = seen.get(plain) ?? 0;
    seen.set(plain, before + 1);
    const key = before === 0 ? plain : `${plain} #${before + 1}`;
    return { key, shown: displayName(job, entry ?? {}, key), entry: entry ?? {} };
  });
}

/** The runs of one job that have these keys, with `needs` still empty. */
export function runsOfJob(
  workflow: Workflow,
  job: WorkflowJob,
  facts: RunFacts,
  keys: ReadonlySet<string> | 'all' = 'all',
): ExpandedRun[] {
  const names = runNames(job).filter(({ key }) => keys === 'all' || keys.has(key));
  return names.map((named) => runOf(workflow, job, named, facts));
}

function runOf(
  workflow: Workflow,
  job: WorkflowJob,
  { key, shown: name, entry }: ReturnType<typeof runNames>[number],
  facts: RunFacts,
): ExpandedRun {
  const fill = (text: string) => putIn(text, entry);
  const { cloneUrl: url, ref, sha } = facts;
  return {
    key,
    job: name,
    needs: [],
    labels: job.labels.map(fill),
    cpus: job.cpus,
    memoryBytes: job.memoryBytes,
    serial: job.serial === null ? null : `${facts.repository}:${fill(job.serial)}`,
    supersede: job.supersede,
    retryLost: job.retryLost,
    failFast: job.failFast && (job.matrix?.length ?? 0) > 1 ? job.id : null,
    kind: 'job',
    state: 'queued',
    spec: {
      repository: facts.repository,
      trust: facts.trust,
      job: name,
      event: facts.event,
      source: job.checkout && { url, ref, sha, submodules: job.checkout.submodules },
      image: job.image === null ? null : fill(job.image),
      services: job.services.map((service) => serviceOf(service, fill)),
      imageFile: job.imageFile === null ? null : fill(job.imageFile),
      imagePull: job.imagePull,
      env: { ...filled(workflow.env, fill), ...filled(job.env, fill) },
      agent: null,
      steps: job.steps.map((step) => stepOf(step, fill)),
      artifacts: job.artifacts.map(({ name, paths }) => ({ name, paths: paths.map(fill) })),
      timeoutMs: job.timeoutMs,
      cpus: job.cpus,
      memoryBytes: job.memoryBytes,
    },
  };
}

/** As in GitHub Actions: the values follow a name that does not speak of them itself. */
function displayName(job: WorkflowJob, entry: MatrixEntry, key: string): string {
  if (job.name === null) return key;
  const values = Object.values(entry);
  if (values.length === 0 || job.name.includes('${{')) return putIn(job.name, entry) || key;
  return `${job.name} (${values.join(', ')})`;
}

function serviceOf(service: ServiceSpec, fill: (text: string) => string): ServiceSpec {
  return {
    name: service.name,
    image: fill(service.image),
    env: filled(service.env, fill),
    command: service.command?.map(fill) ?? null,
    healthCheck: service.healthCheck === null ? null : fill(service.healthCheck),
    readyPorts: service.readyPorts,
  };
}

function stepOf(step: WorkflowStep, fill: (text: string) => string): ExpandedRun['spec']['steps'][number] {
  const run = fill(step.run);
  return {
    kind: 'run',
    name: (step.name === null ? '' : fill(step.name)) || firstLine(run),
    run,
    shell: step.shell,
    workingDirectory: fill(step.workingDirectory),
    env: filled(step.env, fill),
    if: step.if,
    continueOnError: step.continueOnError,
    timeoutMs: step.timeoutMs,
  };
}

function filled(
  env: Readonly<Record<string, string>>,
  fill: (text: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
}

/** What a step without a name is called. */
function firstLine(run: string): string {
  const line = run.trim().split('\n', 1)[0]?.trim() ?? '';
  return line.length > 80 ? `${line.slice(0, 79)}…` : line || 'run';
}
