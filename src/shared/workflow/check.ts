import { formatBytes } from '../units.ts';
import { expressionCount, expressionFaults, type MatrixNames } from './expressions.ts';
import { type Finding, valueAt, withoutFollowing } from './findings.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { nameFindings } from './name-checks.ts';
import { needsFindings } from './needs.ts';
import { runFindings } from './run-checks.ts';
import { type Doubts, doubtsOf } from './sound.ts';
import type { Workflow, WorkflowJob } from './types.ts';
import type { Plain, YamlPath } from './yaml-types.ts';

/**
 * What no single key shows: needs, expressions, and how much the file makes of itself. `workflow` is
 * the sound part of the file; of the rest, where `earlier` findings are, nothing is said again.
 */
export function checkWorkflow(workflow: Workflow, plain: Plain, earlier: readonly Finding[] = []): Finding[] {
  const sizes = sizeFindings(workflow, plain);
  const first = withoutFollowing(
    [
      ...noJobs(plain, earlier),
      ...needsFindings(plain),
      ...expressionFindings(workflow, plain, doubtsOf(plain, earlier)),
      ...sizes,
    ],
    earlier,
  );
  // Only what is known to be of a reasonable size may be expanded.
  if (sizes.length > 0) return first;
  const doubts = doubtsOf(plain, [...earlier, ...first]);
  return [...first, ...runFindings(workflow, doubts), ...nameFindings(workflow, doubts)];
}

/** Unless they stand elsewhere, which an unknown key of the root then says. */
function noJobs(plain: Plain, earlier: readonly Finding[]): Finding[] {
  const sections = ['jobs', 'commands'].map((section) => valueAt(plain, [section]));
  const some = sections.some((section) => Object.keys(section ?? {}).length > 0);
  if (some || earlier.some(({ path, message }) => path.length === 1 && message.includes('`jobs`'))) return [];
  const message = 'there are no jobs; expected at least one under `jobs`';
  return [{ path: ['jobs'], what: 'key', message }];
}

function expressionFindings(workflow: Workflow, plain: Plain, doubts: Doubts): Finding[] {
  const names = new Map(workflow.jobs.map((job) => [job.id, matrixNames(job)]));
  const namesAt = ([section, id, key]: YamlPath): MatrixNames => {
    if (section !== 'jobs' || NO_MATRIX.has(key)) return null;
    return doubts('jobs', String(id), ['strategy']) ? 'any' : (names.get(String(id)) ?? 'any');
  };
  const findings: Finding[] = [];
  const visit = (value: Plain, path: YamlPath): void => {
    if (findings.length > LIMITS.faults) return;
    if (typeof value === 'string') {
      if (!value.includes('${{') || isCondition(path)) return;
      for (const message of expressionFaults(value, namesAt(path))) {
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
  const shared = measure(valueAt(plain, ['env']) ?? null).chars;
  let runs = 0;
  let total = 0;
  for (const { id, matrix } of workflow.jobs) {
    const { chars, expressions } = measure(valueAt(plain, ['jobs', id]) ?? null);
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
