/** Forges take 65,536 characters; some room is left for what stands around it. */
const MOST_BODY = 60_000;
const MOST_TITLE = 250;
/** Nobody sees it, and what it stands in is nothing special any more. */
const GAP = '\u200b';

/**
 * Markdown that somebody else wrote (an agent, which may have been told to), as it may stand in a comment of
 * vole's own: it mentions nobody, and no HTML comment of it stays one, since vole knows its own comments by those.
 */
export function safeMarkdown(text: string, most = MOST_BODY): string {
  const safe = text
    .replaceAll('\0', '')
    .replace(/\r\n?/g, '\n')
    .replaceAll('<!--', `<${GAP}!--`)
    // the same sign by another name
    .replace(/&(?=(?:commat|#0*64|#x0*40)\b)/gi, '&amp;')
    .replace(/(?<![A-Za-z0-9])@(?=\S)/g, `@${GAP}`);
  if (safe.length <= most) return safe;
  return `${wholeCharacters(safe.slice(0, most))}\n\n... (cut here)`;
}

/** One line, as the title of a pull request. */
export function safeTitle(text: string): string {
  const line = safeMarkdown(text).replace(/\s+/g, ' ').trim();
  return wholeCharacters(line.slice(0, MOST_TITLE)) || 'A change';
}

/** Without the first half of a character at its end. */
function wholeCharacters(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}
