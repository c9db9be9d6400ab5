import type { GitReply } from '../pipelines/git.ts';

/** What a `git push --porcelain` of one branch came to. */
export type PushEnd =
  | { readonly type: 'pushed' }
  /** Somebody else pushed to the branch meanwhile. */
  | { readonly type: 'moved'; readonly why: string }
  /** Final: a hook, a protected branch, a token that may not. */
  | { readonly type: 'refused'; readonly why: string }
  /** It may have been pushed: the remote has to be looked at before it is tried again. */
  | { readonly type: 'unsure'; readonly why: string };

const MOVED =
  /non-fast-forward|fetch first|stale info|cannot lock ref|failed to update ref|reference already exists|incorrect old value/i;
const NOT_ALLOWED =
  /authentication failed|could not read (?:username|password)|permission denied|returned error: 40[0134]|returned error: 30\d|repository .*not found|unable to update url base from redirection/i;

export function pushEnd(reply: Pick<GitReply, 'ok' | 'stdout' | 'stderr' | 'why'>): PushEnd {
  if (reply.ok) return { type: 'pushed' };
  // `!`, the refs, `[rejected] (fetch first)`
  const rejected = /^!\t[^\t]*\t\[(?:remote )?(?:rejected|failure)\](?: \((.*)\))?$/m.exec(reply.stdout);
  if (rejected) {
    const reason = rejected[1] ?? 'rejected';
    if (MOVED.test(reason)) return { type: 'moved', why: reason };
    const said = remoteLine(reply.stderr);
    return { type: 'refused', why: said === '' ? reason : `${said} (${reason})` };
  }
  const said = remoteLine(reply.stderr);
  const why = said === '' ? reply.why : `${said}; ${reply.why}`;
  return { type: NOT_ALLOWED.test(`${reply.why}\n${reply.stderr}`) ? 'refused' : 'unsure', why };
}

/** What the forge itself said, as git passes it on: its first line that complains, else its first. */
function remoteLine(stderr: string): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .flatMap((line) => /^remote:\s*(.*\S)\s*$/.exec(line)?.[1] ?? [])
    .filter((line) => /\w/.test(line));
  return (
    lines.find((line) => /\b(?:error|fatal|denied|not allowed|protected|declined)\b/i.test(line)) ??
    lines[0] ??
    ''
  );
}
