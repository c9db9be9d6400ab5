import { oneLine } from '../errors.ts';
import { isImageFile } from '../image-file.ts';
import { isImageName, mayBeBuiltHere } from '../image-name.ts';
import { jobSpecSchema } from '../job-spec.ts';
import { plain as plainText } from '../plain-text.ts';
import { serviceFaults } from '../service-faults.ts';

import { formatBytes } from '../units.ts';
import { runsOfJob } from './expand.ts';
import { expressionCount, expressionFaults } from './expressions.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import type { Finding } from './messages.ts';
import { needsFindings } from './needs.ts';
import type { ExpandedRun, Workflow, WorkflowJob } from './types.ts';
import type { Plain, YamlPath } from './yaml-source.ts';

/** What no single key shows: needs, expressions, and how much the file makes of itself. */
export function checkWorkflow(workflow: Workflow, plain: Plain): Finding[] {
  const findings = [...needsFindings(workflow.jobs), ...expressionFindings(workflow, plain)];
  if (findings.length > 0) return findings;
  const sizes = sizeFindings(workflow, plain);
  return sizes.length > 0 ? sizes : [...runFindings('jobs', workflow), ...runFindings('commands', workflow)];
}

function expressionFindings(workflow: Workflow, plain: Plain): Finding[] {
  const names = new Map(workflow.jobs.map((job) => [job.id, matrixNames(job)]));
  const findings: Finding[] = [];
  const visit = (value: Plain, path: YamlPath): void => {
    if (findings.length >= LIMITS.faults) return;
    if (typeof value === 'string') {
      if (!value.includes('${{') || isCondition(path)) return;
      const known = path[0] === 'jobs' && !NO_MATRIX.has(path[2]) ? names.get(String(path[1])) : null;
      for (const message of expressionFaults(value, known ?? null)) {
        findings.push({ path, what: 'value', message });
      }
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    } else if (value) {
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
    }
  };
  visit(plain, []);
  return findings;
}

/** Keys of a job that are read before there are entries. */
const NO_MATRIX: ReadonlySet<unknown> = new Set(['strategy', 'needs']);

/** `if:` has words of its own, which the schema has checked. */
function isCondition(path: YamlPath): boolean {
  return path[2] === 'steps' && path[4] === 'if';
}

function matrixNames(job: WorkflowJob): ReadonlySet<string> {
  return new Set((job.matrix ?? []).flatMap((entry) => Object.keys(entry)));
}

/** Estimated before anything is expanded: a small file can otherwise ask for gigabytes. */
function sizeFindings(workflow: Workflow, plain: Plain): Finding[] {
  const findings: Finding[] = [];
  const jobs = childOf(plain, 'jobs');
  const shared = measure(childOf(plain, 'env')).chars;
  let runs = 0;
  let total = 0;
  for (const { id, matrix } of workflow.jobs) {
    const { chars, expressions } = measure(childOf(jobs, id));
    const longest = Math.max(
      0,
      ...(matrix ?? []).flatMap((entry) => Object.values(entry).map((v) => v.length)),
    );
    const each = shared + chars + expressions * longest;
    runs += matrix?.length ?? 1;
    total += each * (matrix?.length ?? 1);
    const message =
      each > LIMITS.textChars
        ? `\`${id}\` has about ${formatBytes(each)} of text with its matrix put in; at most ${formatBytes(LIMITS.textChars)}`
        : runs > LIMITS.runs
          ? `more than ${LIMITS.runs} runs; at most so many start at once`
          : total > LIMITS.expandedChars
            ? `all runs together have over ${formatBytes(LIMITS.expandedChars)} of text; expected less`
            : null;
    if (message) return [{ path: ['jobs', id], what: 'key', message }];
  }
  return findings;
}

function childOf(plain: Plain, key: string): Plain {
  if (plain === null || typeof plain !== 'object' || Array.isArray(plain)) return null;
  return Object.hasOwn(plain, key) ? (plain[key] ?? null) : null;
}

function measure(plain: Plain): { chars: number; expressions: number } {
  if (plain === null) return { chars: 0, expressions: 0 };
  if (typeof plain === 'string') return { chars: plain.length, expressions: expressionCount(plain) };
  let chars = 0;
  let expressions = 0;
  for (const child of Object.values<Plain>(plain)) {
    const measured = measure(child);
    chars += measured.chars;
    expressions += measured.expressions;
  }
  return { chars, expressions };
}

const NOWHERE = { repository: '', cloneUrl: '', ref: '', sha: '', event: '', trust: 'untrusted' } as const;

/** Of a run that has been leased. */
const PLACED = { run: 1, attempt: 1, pipeline: 1, repository: 'owner/name', event: 'push' } as const;

/** Texts that a matrix value has made empty, or a folder that it has led out of the checkout. */
function runFindings(section: 'jobs' | 'commands', workflow: Workflow): Finding[] {
  const findings: Finding[] = [];
  for (const job of workflow[section]) {
    const path = [section, job.id];
    for (const run of runsOfJob(workflow, job, NOWHERE)) {
      const because = `in \`${plainText(run.key)}\``;
      const add = (at: YamlPath, message: string) =>
        findings.push({ path: [...path, ...at], what: 'key', message });
      if (run.labels.includes('')) add(['labels'], `a label is empty ${because}`);
      if (run.serial !== null && run.serial.endsWith(':')) add(['serial'], `\`serial\` is empty ${because}`);
      for (const [at, name] of [[[], run.job], ...run.spec.steps.map(stepName)] as [YamlPath, string][]) {
        if (/\p{Cc}/u.test(name)) add([...at, 'name'], `the name has a control character ${because}`);
      }
      for (const [key, message] of imageFaults(run.spec)) add([key], `${message} ${because}`);
      for (const { name, why } of serviceFaults(run.spec)) {
        add(name === null ? ['services'] : ['services', name], `${why} ${because}`);
      }
      for (const [index, step] of run.spec.steps.entries()) {
        if (step.run === '') add(['steps', index, 'run'], `\`run\` is empty ${because}`);
        if (step.workingDirectory.startsWith('/') || step.workingDirectory.split('/').includes('..')) {
          add(['steps', index, 'working-directory'], `\`working-directory\` leaves the checkout ${because}`);
        }
      }
      for (const [at, message] of artifactFaults(run.spec.artifacts)) {
        add(['artifacts', ...at], `${message} ${because}`);
      }
      if (findings.length > 0) return findings;
      const unsuitable = specFault(run.spec);
      if (unsuitable !== null) return [{ path, what: 'key', message: `${unsuitable} ${because}` }];
    }
  }
  return findings;
}

function stepName({ name }: { readonly name: string }, index: number): [YamlPath, string] {
  return [['steps', index], name];
}

/** What would fail only when the job's work is done. */
function artifactFaults(artifacts: ExpandedRun['spec']['artifacts']): [YamlPath, string][] {
  const faults: [YamlPath, string][] = [];
  const names = new Set<string>();
  for (const [index, { name, paths }] of artifacts.entries()) {
    if (names.has(name)) faults.push([[index, 'name'], `there are two artifacts \`${name}\``]);
    names.add(name);
    for (const glob of paths) {
      if (glob === '') faults.push([[index, 'paths'], 'a pattern of `paths` is empty']);
      else if (glob.startsWith('/') || glob.split('/').includes('..'))
        faults.push([[index, 'paths'], `\`${glob}\` leaves the checkout`]);
    }
  }
  return faults;
}

/** A runner that is given a job which it does not understand stops: no workflow file may bring it to that. */
function specFault(spec: ExpandedRun['spec']): string | null {
  const source = spec.source && { ...spec.source, url: 'somewhere', sha: '0'.repeat(40) };
  const parsed = jobSpecSchema.safeParse({ ...spec, ...PLACED, source });
  const [issue] = parsed.success ? [] : parsed.error.issues;
  return issue ? `\`${issue.path.join('.')}\` is not what a runner takes: ${oneLine(issue.message)}` : null;
}

function imageFaults({ image, imageFile, source }: ExpandedRun['spec']): [string, string][] {
  const faults: [string, string][] = [];
  if (image !== null && imageFile !== null) {
    faults.push(['image-file', 'there is `image` beside `image-file`; expected one of them']);
  }
  if (image !== null && !isImageName(image)) {
    faults.push(['image', `\`image\` is \`${image}\`, which is no image's name,`]);
  } else if (image !== null && mayBeBuiltHere(image)) {
    faults.push(['image', `\`image\` is \`${image}\`, an image's id; expected its name, with a tag,`]);
  }
  if (imageFile !== null && !isImageFile(imageFile)) {
    faults.push(['image-file', `\`image-file\` is \`${imageFile}\`, which is no file within the checkout,`]);
  }
  if (imageFile !== null && source === null) {
    faults.push(['image-file', '`image-file` is a file of the checkout, and there is `checkout: false`']);
  }
  return faults;
}
