import { oneLine } from '../errors.ts';
import { isImageFile } from '../image-file.ts';
import { isImageName, mayBeBuiltHere } from '../image-name.ts';
import { jobSpecSchema } from '../job-spec.ts';
import { plain as plainText } from '../plain-text.ts';
import { type ServiceFault, serviceFaults } from '../service-faults.ts';
import { runsOfJob } from './expand.ts';
import type { Finding } from './findings.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { JOB_KEYS } from './schema.ts';
import type { Doubts, Section } from './sound.ts';
import type { ExpandedRun, Workflow, WorkflowJob } from './types.ts';
import { quoted } from './words.ts';
import type { YamlPath } from './yaml-types.ts';

const NOWHERE = { repository: '', cloneUrl: '', ref: '', sha: '', event: '', trust: 'untrusted' } as const;

/** Of a run that has been leased. */
const PLACED = { run: 1, attempt: 1, pipeline: 1, repository: 'owner/name', event: 'push' } as const;

interface RunFault {
  /** Within the job. */
  readonly at: YamlPath;
  readonly message: string;
}

interface RunCheck {
  /** Keys of a job that it reads: where one of them is in doubt, it has nothing to say. */
  readonly keys: readonly string[];
  faults(run: ExpandedRun): readonly RunFault[];
}

/** Texts that a matrix value has made empty, a folder that it has led out of the checkout, and keys at odds. */
const CHECKS: readonly RunCheck[] = [
  {
    keys: ['labels'],
    faults: ({ labels }) => (labels.includes('') ? [at(['labels'], 'a label is empty')] : []),
  },
  {
    keys: ['serial'],
    faults: ({ serial }) => (serial?.endsWith(':') ? [at(['serial'], '`serial` is empty')] : []),
  },
  { keys: ['name'], faults: ({ job }) => nameFaults([], job) },
  { keys: ['steps'], faults: ({ spec }) => spec.steps.flatMap(stepFaults) },
  { keys: ['image'], faults: ({ spec }) => imageFaults(spec.image) },
  { keys: ['image-file'], faults: ({ spec }) => imageFileFaults(spec.imageFile) },
  { keys: ['image', 'image-file'], faults: ({ spec }) => bothImages(spec) },
  { keys: ['image-file', 'checkout'], faults: ({ spec }) => noCheckout(spec) },
  { keys: ['services', 'image', 'image-file'], faults: ({ spec }) => serviceFaults(spec).map(ofService) },
  { keys: ['artifacts'], faults: ({ spec }) => artifactFaults(spec.artifacts) },
];

export function runFindings(workflow: Workflow, doubts: Doubts): Finding[] {
  const findings: Finding[] = [];
  for (const section of ['jobs', 'commands'] as const) {
    for (const job of workflow[section]) {
      if (findings.length > LIMITS.faults) return findings;
      findings.push(...findingsOfJob(section, workflow, job, doubts));
    }
  }
  return findings;
}

/** What is wrong with several entries of its matrix is said of the first. */
function findingsOfJob(section: Section, workflow: Workflow, job: WorkflowJob, doubts: Doubts): Finding[] {
  const inDoubt = (keys: readonly string[]): boolean => doubts(section, job.id, keys);
  if (inDoubt(['strategy']) && JSON.stringify(job).includes('${{')) return [];
  const checks = CHECKS.filter(({ keys }) => !inDoubt(keys));
  const isSound = !inDoubt(Object.keys(JOB_KEYS));
  const told = new Set<string>();
  const findings: Finding[] = [];
  for (const run of runsOfJob(workflow, job, NOWHERE)) {
    const found = checks.flatMap((check) => check.faults(run));
    if (isSound && found.length === 0 && findings.length === 0) found.push(...specFaults(run.spec));
    const fresh = found.filter((fault) => !told.has(JSON.stringify(fault.at)));
    for (const fault of fresh) told.add(JSON.stringify(fault.at));
    const where = job.matrix === null ? '' : ` (in ${quoted(plainText(run.key))})`;
    findings.push(
      ...fresh.map(({ at: within, message }): Finding => {
        return { path: [section, job.id, ...within], what: 'key', message: `${message}${where}` };
      }),
    );
  }
  return findings;
}

function at(path: YamlPath, message: string): RunFault {
  return { at: path, message };
}

function nameFaults(path: YamlPath, name: string): RunFault[] {
  return /\p{Cc}/u.test(name) ? [at([...path, 'name'], 'the name has a control character')] : [];
}

function stepFaults(
  { name, run, workingDirectory }: ExpandedRun['spec']['steps'][number],
  index: number,
): RunFault[] {
  const path = ['steps', index];
  const faults = nameFaults(path, name);
  if (run === '') faults.push(at([...path, 'run'], '`run` is empty'));
  if (leavesCheckout(workingDirectory)) {
    faults.push(at([...path, 'working-directory'], '`working-directory` leaves the checkout'));
  }
  return faults;
}

function leavesCheckout(path: string): boolean {
  return path.startsWith('/') || path.split('/').includes('..');
}

/** What would fail only when the job's work is done. */
function artifactFaults(artifacts: ExpandedRun['spec']['artifacts']): RunFault[] {
  const faults: RunFault[] = [];
  const names = new Set<string>();
  for (const [index, { name, paths }] of artifacts.entries()) {
    if (names.has(name)) faults.push(at(['artifacts', index, 'name'], `there are two artifacts \`${name}\``));
    names.add(name);
    for (const glob of paths) {
      const path = ['artifacts', index, 'paths'];
      if (glob === '') faults.push(at(path, 'a pattern of `paths` is empty'));
      else if (leavesCheckout(glob)) faults.push(at(path, `${quoted(glob)} leaves the checkout`));
    }
  }
  return faults;
}

function ofService({ name, why }: ServiceFault): RunFault {
  return at(name === null ? ['services'] : ['services', name], why);
}

/** A runner that is given a job which it does not understand stops: no workflow file may bring it to that. */
function specFaults(spec: ExpandedRun['spec']): RunFault[] {
  const source = spec.source && { ...spec.source, url: 'somewhere', sha: '0'.repeat(40) };
  const parsed = jobSpecSchema.safeParse({ ...spec, ...PLACED, source });
  const [issue] = parsed.success ? [] : parsed.error.issues;
  if (!issue) return [];
  return [at([], `\`${issue.path.join('.')}\` is not what a runner takes: ${oneLine(issue.message)}`)];
}

function imageFaults(image: string | null): RunFault[] {
  if (image === null) return [];
  if (!isImageName(image)) return [at(['image'], `\`image\` is ${quoted(image)}, which is no image's name`)];
  if (!mayBeBuiltHere(image)) return [];
  return [at(['image'], `\`image\` is ${quoted(image)}, an image's id; expected its name, with a tag`)];
}

function imageFileFaults(file: string | null): RunFault[] {
  if (file === null || isImageFile(file)) return [];
  return [at(['image-file'], `\`image-file\` is ${quoted(file)}, which is no file within the checkout`)];
}

function bothImages({ image, imageFile }: ExpandedRun['spec']): RunFault[] {
  if (image === null || imageFile === null) return [];
  return [at(['image-file'], 'there is `image` beside `image-file`; expected one of them')];
}

function noCheckout({ imageFile, source }: ExpandedRun['spec']): RunFault[] {
  if (imageFile === null || source !== null) return [];
  return [at(['image-file'], '`image-file` is a file of the checkout, and there is `checkout: false`')];
}
