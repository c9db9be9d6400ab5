import { buildWorkflow } from './build.ts';
import { checkWorkflow } from './check.ts';
import { type Finding, faultsOf, valueAt, withoutFollowing } from './findings.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { describeIssue, findingsOf } from './messages.ts';
import { jobSchema, workflowSchema } from './schema.ts';
import { soundPart } from './sound.ts';
import type { Fault, ParsedWorkflow } from './types.ts';
import { readYaml } from './yaml-source.ts';
import type { Plain } from './yaml-types.ts';

/** Name of the workflow file at the root of a repository. */
export const WORKFLOW_FILE = '.vole.yml';

const ERROR_MAP = { error: describeIssue };

/**
 * A workflow file's text to the workflow, or to what is wrong with it, in the order of the file: what
 * can be told at once, without what may only follow from another fault. Never throws: the text may
 * come from a stranger. `file` is only what faults are said of.
 */
export function parseWorkflow(text: string, file = WORKFLOW_FILE): ParsedWorkflow {
  const read = readYaml(text, file);
  if (!read.ok) return refused(read.faults);
  const { value, findings: unread, locate } = read.source;
  const found = [...unread, ...withoutFollowing(keyFindings(value), unread)];
  if (found.length > LIMITS.keyFaults) return refused(faultsOf(found, file, locate));
  const raw = workflowSchema.safeParse(soundPart(value, found), ERROR_MAP);
  if (!raw.success)
    return refused(faultsOf([...found, ...findingsOf(raw.error.issues, value)], file, locate));
  const { workflow, findings } = buildWorkflow(raw.data);
  found.push(...findings);
  found.push(...checkWorkflow(workflow, value, found));
  return found.length > 0 ? refused(faultsOf(found, file, locate)) : { ok: true, workflow };
}

/** By the table of keys. What stands at a key that may not be one is looked at all the same. */
function keyFindings(plain: Plain): Finding[] {
  const checked = workflowSchema.safeParse(plain, ERROR_MAP);
  if (checked.success) return [];
  const findings = findingsOf(checked.error.issues, plain);
  const misnamed = findings.filter(
    ({ path, keyAlone }) => keyAlone && path[0] === 'jobs' && path.length === 2,
  );
  return [
    ...findings,
    ...misnamed.flatMap(({ path }) => {
      const job = jobSchema.safeParse(valueAt(plain, path), ERROR_MAP);
      return job.success ? [] : findingsOf(job.error.issues, plain, path);
    }),
  ];
}

function refused(faults: readonly Fault[]): ParsedWorkflow {
  return { ok: false, faults: faults.slice(0, LIMITS.faults), more: faults.length > LIMITS.faults };
}
