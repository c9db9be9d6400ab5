import type { EventFilter, WorkflowEvents } from './types.ts';

export type WorkflowEvent =
  /** `ref` in full: `refs/heads/main`, `refs/tags/v1`. */
  | { readonly name: 'push'; readonly ref: string }
  /** `base` is the branch that it goes into, without `refs/heads/`. */
  | { readonly name: 'pull_request'; readonly base: string }
  | { readonly name: 'manual' };

/** Whether the event starts the workflow's jobs. What a person asks for always does. */
export function matchesOn(on: WorkflowEvents, event: WorkflowEvent): boolean {
  switch (event.name) {
    case 'manual':
      return true;
    case 'pull_request':
      return on.pullRequest !== null && passes(on.pullRequest.branches, event.base);
    case 'push':
      return on.push !== null && pushMatches(on.push, event.ref);
  }
}

/** The globs of changed files that the event must pass, or null where it needs none. Tags have no changes. */
export function pathsOf(on: WorkflowEvents, event: WorkflowEvent): readonly string[] | null {
  switch (event.name) {
    case 'manual':
      return null;
    case 'pull_request':
      return on.pullRequest?.paths ?? null;
    case 'push':
      return event.ref.startsWith('refs/tags/') ? null : (on.push?.paths ?? null);
  }
}

/** Letters of globs times letters of names: some tenths of a second, whatever a stranger's file asks for. */
const MOST_WORK = 50_000_000;

/** Whether one of the files passes. Where it would take too long to find out, it is taken for granted. */
export function matchesPaths(globs: readonly string[], files: readonly string[]): boolean {
  const letters = globs.reduce((sum, glob) => sum + glob.length, 0);
  let work = 0;
  for (const file of files) {
    work += letters * file.length;
    if (work > MOST_WORK || passes(globs, file)) return true;
  }
  return false;
}

/** As in GitHub Actions: a filter of branches alone leaves tags out, and one of tags alone branches. */
function pushMatches(filter: EventFilter, ref: string): boolean {
  const tag = ref.startsWith('refs/tags/');
  const [own, other] = tag ? [filter.tags, filter.branches] : [filter.branches, filter.tags];
  if (own === null) return other === null;
  return passes(own, ref.replace(/^refs\/(heads|tags)\//, ''));
}

/** The last glob that matches decides; `!` before it leaves the name out. */
function passes(globs: readonly string[] | null, name: string): boolean {
  if (globs === null) return true;
  let passing = false;
  for (const glob of globs) {
    const negated = glob.startsWith('!');
    if (matchesGlob(negated ? glob.slice(1) : glob, name)) passing = !negated;
  }
  return passing;
}

/**
 * `*` is any text without a slash, `**` any text. By the set of places that the name may have been
 * read up to, so that the cost is the product of both lengths whatever the glob is.
 */
function matchesGlob(glob: string, name: string): boolean {
  const parts = glob.match(/\*\*|\*|[^*]/gu) ?? [];
  const letters = Array.from(name);
  let reached = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of reached) {
      if (part === '*' || part === '**') {
        for (let end = at; end <= letters.length && !next.has(end); end++) {
          next.add(end);
          if (part === '*' && letters[end] === '/') break;
        }
      } else if (letters[at] === part) next.add(at + 1);
    }
    reached = next;
    if (reached.size === 0) return false;
  }
  return reached.has(letters.length);
}
