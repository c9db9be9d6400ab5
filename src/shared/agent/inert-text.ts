/** Nobody sees it, and what it stands in is nothing special any more. */
const GAP = '\u200b';

/** Words by which forges and CI systems leave a commit out. */
const SKIPS = /\[\s*(?=(?:skip[ -](?:ci|actions)|(?:ci|actions)[ -]skip|no[ -]ci)\s*\])/gi;
const TRAILER = /^(?=[A-Za-z][A-Za-z0-9-]*[ \t]*:\s)/gm;

/**
 * A text of an agent's, or of whoever opened an issue, for a commit or a pull request: it closes nothing,
 * notifies nobody, switches no check off, and none of its lines is a trailer of the commit (a co-author, a
 * sign-off). People read the same words.
 */
export function inertText(text: string): string {
  return text
    .replace(/(?<![A-Za-z0-9])@(?=\S)/g, `@${GAP}`)
    .replace(/#(?=\d)/g, `#${GAP}`)
    .replace(/\b(GH-)(?=\d)/gi, `$1${GAP}`)
    .replace(SKIPS, (open) => open + GAP)
    .replace(/\/(issues|pull|pulls)\/(?=\d)/gi, `/$1/${GAP}`)
    .replace(TRAILER, GAP);
}
