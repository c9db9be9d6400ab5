import type { Trust } from '../../shared/job-spec.ts';
import { formatBytes } from '../../shared/units.ts';
import { WORKFLOW_LIMITS } from '../../shared/workflow/limits.ts';
import { WORKFLOW_FILE } from '../../shared/workflow/parse.ts';
import type { Mirror } from './mirror.ts';

export type WorkflowFile =
  | { readonly type: 'found'; readonly text: string }
  | { readonly type: 'absent' }
  /** `file:line:column: what`. */
  | { readonly type: 'faulty'; readonly fault: string };

/** The workflow file's text at a commit. */
export async function readWorkflowFile(mirror: Mirror, sha: string): Promise<WorkflowFile> {
  const file = await mirror.read(sha, WORKFLOW_FILE, WORKFLOW_LIMITS.fileBytes);
  if (file.found) return { type: 'found', text: file.text };
  const at = `${WORKFLOW_FILE}:1:1`;
  switch (file.why) {
    case 'absent':
      return { type: 'absent' };
    case 'too-big': {
      const most = formatBytes(WORKFLOW_LIMITS.fileBytes);
      return { type: 'faulty', fault: `${at}: the file is over ${most}; at most that is read` };
    }
    case 'no-file':
      return { type: 'faulty', fault: `${at}: expected a file, not a link or a directory` };
    default:
      return file.why satisfies never;
  }
}

/**
 * Only what a branch or tag of the repository itself holds is trusted: a change that somebody proposed
 * stays untrusted though an administrator starts it, since it would get the secrets.
 */
export async function trustOf(mirror: Mirror, sha: string): Promise<Trust> {
  return (await mirror.isPublished(sha)) ? 'trusted' : 'untrusted';
}
