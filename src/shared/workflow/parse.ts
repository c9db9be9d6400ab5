import { buildWorkflow } from './build.ts';
import { checkWorkflow } from './check.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { describeIssue, type Finding, findingsOf } from './messages.ts';
import { workflowSchema } from './schema.ts';
import type { Fault, ParsedWorkflow } from './types.ts';
import { readYaml, type YamlSource } from './yaml-source.ts';

/** Name of the workflow file at the root of a repository. */
export const WORKFLOW_FILE = '.vole.yml';

/**
 * A workflow file's text to the workflow, or to everything that is wrong with it, in the order of
 * the file. Never throws: the text may come from a stranger. `file` is only what faults are said of.
 */
export function parseWorkflow(text: string, file = WORKFLOW_FILE): ParsedWorkflow {
  const read = readYaml(text, file);
  if (!read.ok) return read;
  const { source } = read;
  const checked = workflowSchema.safeParse(source.value, { error: describeIssue });
  if (!checked.success) return refused(findingsOf(checked.error.issues), source, file);
  const { workflow, findings } = buildWorkflow(checked.data);
  if (findings.length > 0) return refused(findings, source, file);
  const wrong = checkWorkflow(workflow, source.value);
  return wrong.length > 0 ? refused(wrong, source, file) : { ok: true, workflow };
}

function refused(findings: readonly Finding[], source: YamlSource, file: string): ParsedWorkflow {
  const faults: Fault[] = findings.slice(0, LIMITS.faults).map(({ path, what, message }) => ({
    file,
    ...source.locate(path, what),
    message,
  }));
  faults.sort((a, b) => a.line - b.line || a.column - b.column);
  return { ok: false, faults };
}
