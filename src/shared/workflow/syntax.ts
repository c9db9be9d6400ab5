import type { YAMLParseError } from 'yaml';
import { quoted } from './words.ts';

/** Something wrong at an offset of the text. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}

type SyntaxError = Pick<YAMLParseError, 'code' | 'message' | 'pos'>;

/**
 * What is wrong with the YAML itself, in the order of the text. A parser that has lost its way finds
 * fault with all that follows, so nothing is said after the first place where that can have happened;
 * of a quote without an end, of which it notices the end of the text, the place is where it begins; and of tabs, which confuse it most, only the first line and how many there are.
 */
export function syntaxFaults(
  text: string,
  errors: readonly SyntaxError[],
  openQuotes: readonly number[],
): SyntaxFault[] {
  const tabs = errors.filter(({ code }) => code === 'TAB_AS_INDENT').map(({ pos }) => pos[0]);
  if (tabs.length > 0) return [tabFault(new Set(tabs))];
  const sorted = errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  const first = sorted.findIndex((error) => !isLocal(error));
  const told = first === -1 ? sorted : sorted.slice(0, first + 1);
  return told.map((error) => {
    const quote = isQuoteError(error) ? openQuotes.findLast((offset) => offset < error.pos[0]) : undefined;
    if (quote === undefined) return { offset: error.pos[0], message: wordsOf(error, text) };
    return {
      offset: quote,
      message: `a text that begins here has no end; expected ${quoted(text[quote] ?? '')}`,
    };
  });
}

/** Whether a piece of YAML is a quoted text that goes on to where the parser had to give up. */
export function isOpenQuote(lexeme: string): boolean {
  const quote = lexeme[0];
  if (quote !== '"' && quote !== "'") return false;
  const inner = lexeme.slice(1);
  // in single quotes two of them are one, in double quotes a backslash takes the end away
  if (quote === "'") return countAtEnd(inner, "'") % 2 === 0;
  return !inner.endsWith('"') || countAtEnd(inner.slice(0, -1), '\\') % 2 === 1;
}

function countAtEnd(text: string, character: string): number {
  let count = 0;
  while (text[text.length - 1 - count] === character) count += 1;
  return count;
}

function isQuoteError({ code, message }: SyntaxError): boolean {
  return code === 'MISSING_CHAR' && /^Missing closing ["']quote/.test(message);
}

function tabFault(offsets: ReadonlySet<number>): SyntaxFault {
  const others = offsets.size - 1;
  const more = others === 0 ? '' : ` and ${others === 1 ? 'one' : others} more`;
  return { offset: Math.min(...offsets), message: `a tab indents this line${more}; expected spaces` };
}

/** Whether the parser reads on after it as if it were not there. */
function isLocal({ code, message }: SyntaxError): boolean {
  return code === 'BAD_SCALAR_START' || (code === 'BLOCK_AS_IMPLICIT_KEY' && message.startsWith('Nested'));
}

const NO_COLON = 'a key without `:`; expected `KEY: VALUE`, or a deeper indent for a text of several lines';

/** The parser's own words, but for those that can be said better. */
function wordsOf({ code, message, pos }: SyntaxError, text: string): string {
  switch (code) {
    case 'MULTIPLE_DOCS':
      return 'a second document starts here; expected one';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return message.startsWith('Nested')
        ? 'a second `: ` on one line, or a wrong indent; expected quotes around a text that holds `: `'
        : 'a list entry at a wrong indent; expected the column of the entries before it';
    case 'MULTILINE_IMPLICIT_KEY':
      return NO_COLON;
    case 'BAD_SCALAR_START':
      return `a text begins with ${quoted(text[pos[0]] ?? '')}; expected quotes around it`;
    case 'BAD_INDENT':
      return indentWords(message);
    case 'MISSING_CHAR':
      return message.startsWith('Implicit map keys') ? NO_COLON : message;
    default:
      return message.split('\n', 1)[0] ?? message;
  }
}

function indentWords(message: string): string {
  const end = /end with an? ([\]}])/.exec(message)?.[1];
  if (end !== undefined)
    return `a \`${end === ']' ? '[' : '{'}\` before this has no end; expected \`${end}\``;
  return 'a wrong indent; expected the column of the lines before it, and a space after `-`';
}
