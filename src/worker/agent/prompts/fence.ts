const SHORTEST = 8;

/**
 * A text of somebody else's, between two lines of tildes that are longer than any in it, so that nothing
 * in it can end it.
 */
export function fenced(name: string, text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/~+/g)].map(([run]) => run.length));
  const line = '~'.repeat(Math.max(SHORTEST, longest + 1));
  return `${line} ${name}\n${text}\n${line}`;
}

/** At most so many characters, and says how many are missing. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const said = (missing: number): string => `\n[${missing} more characters are left out]`;
  // Half of a surrogate pair is no character.
  const end = Math.max(0, most - said(text.length).length);
  const kept = text.slice(0, end).replace(/[\uD800-\uDBFF]$/, '');
  return kept + said(text.length - kept.length);
}
