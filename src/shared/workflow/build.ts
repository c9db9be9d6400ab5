import type { ServiceSpec } from '../job-spec.ts';
import type { Finding } from './findings.ts';
import { matrixEntries } from './matrix.ts';
import type { RawCommand, RawJob, RawWorkflow } from './schema.ts';
import type {
  EventFilter,
  MatrixEntry,
  Workflow,
  WorkflowEvents,
  WorkflowJob,
  WorkflowStep,
} from './types.ts';

/** Gives the checked file the shape that the rest of vole works with; too large a matrix is found here. */
export function buildWorkflow(raw: RawWorkflow): { workflow: Workflow; findings: Finding[] } {
  const findings: Finding[] = [];
  const jobs = Object.entries(raw.jobs ?? {}).map(([id, job]) => {
    const matrix = matrixOf(id, job, findings);
    const serial = job.serial ?? null;
    const retryLost = job['retry-lost'] ?? serial === null;
    return {
      ...jobOf(id, job),
      needs: [...new Set(job.needs)],
      matrix,
      failFast: job.strategy?.['fail-fast'] ?? true,
      serial,
      retryLost,
      supersede: job.supersede,
    };
  });
  const commands = Object.entries(raw.commands ?? {}).flatMap(([id, job]) => (job ? [jobOf(id, job)] : []));
  const workflow = { name: raw.name ?? null, on: eventsOf(raw.on), env: raw.env ?? {}, jobs, commands };
  return { workflow, findings };
}

function matrixOf(id: string, job: RawJob, findings: Finding[]): MatrixEntry[] | null {
  if (!job.strategy?.matrix) return null;
  const made = matrixEntries(job.strategy.matrix);
  if ('entries' in made) return made.entries;
  findings.push({
    path: ['jobs', id, 'strategy', 'matrix'],
    what: 'key',
    message: `\`${id}\`: ${made.fault}`,
  });
  return null;
}

/** A command is serial by its issue, so that it is lost at the first time unless it says otherwise. */
function jobOf(id: string, job: RawCommand): WorkflowJob {
  const { checkout } = job;
  const wanted = typeof checkout === 'boolean' ? checkout && { submodules: false } : checkout;
  return {
    id,
    name: job.name ?? null,
    needs: [],
    matrix: null,
    failFast: false,
    labels: job.labels,
    cpus: job.cpus,
    memoryBytes: job.memory,
    serial: null,
    supersede: false,
    retryLost: job['retry-lost'] ?? false,
    timeoutMs: Math.round(job['timeout-minutes'] * 60_000),
    checkout: wanted || null,
    image: job.image ?? null,
    services: Object.entries(job.services ?? {}).map(serviceOf),
    imageFile: job['image-file'] ?? null,
    imagePull: job['image-pull'] ?? null,
    env: job.env ?? {},
    steps: job.steps.map(stepOf),
    artifacts: job.artifacts,
  };
}

function serviceOf([name, service]: [string, NonNullable<RawJob['services']>[string]]): ServiceSpec {
  return {
    name,
    image: service.image,
    env: service.env ?? {},
    command: service.command ?? null,
    healthCheck: service['health-check'] ?? null,
    readyPorts: service['ready-ports'] ?? null,
  };
}

function stepOf(step: RawJob['steps'][number]): WorkflowStep {
  const minutes = step['timeout-minutes'];
  return {
    name: step.name ?? null,
    run: step.run,
    shell: step.shell,
    workingDirectory: step['working-directory'],
    env: step.env ?? {},
    if: step.if,
    continueOnError: step['continue-on-error'],
    timeoutMs: minutes === undefined ? null : Math.round(minutes * 60_000),
  };
}

const EVERY: EventFilter = { branches: null, tags: null, paths: null };

function eventsOf(on: RawWorkflow['on']): WorkflowEvents {
  if (typeof on === 'string' || Array.isArray(on)) {
    const names = [on].flat();
    return {
      push: names.includes('push') ? EVERY : null,
      pullRequest: names.includes('pull_request') ? EVERY : null,
    };
  }
  // `push:` with nothing after it is the event without filters; a key that is not there is no event.
  return {
    push: on.push === undefined ? null : { ...EVERY, ...given(on.push) },
    pullRequest: on.pull_request === undefined ? null : { ...EVERY, ...given(on.pull_request) },
  };
}

function given(filter: { [key: string]: string[] | undefined } | null): Partial<EventFilter> {
  return Object.fromEntries(Object.entries(filter ?? {}).filter(([, globs]) => globs !== undefined));
}
