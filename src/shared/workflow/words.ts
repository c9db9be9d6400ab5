const SHOWN_CHARS = 40;

/**
 * A text of the file as a message shows it: short and on one line, whatever a stranger has written;
 * control characters as the escapes that they are in YAML's double quotes.
 */
export function quoted(text: string, most = SHOWN_CHARS): string {
  const line = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  return /\p{Cc}/u.test(line) ? JSON.stringify(line).replace(/\p{Cc}/gu, escaped) : `\`${line}\``;
}

/** JSON leaves those of 0x7f and above as they are. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What stands there, in YAML's words. */
export function foundWord(input: unknown): string {
  if (input === undefined || input === null) return 'nothing';
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'object') return 'a map';
  const text = typeof input === 'string' ? input : typeof input;
  return text === '' ? 'an empty text' : quoted(text);
}
