import { Composer, type CST, Lexer, LineCounter, Parser } from 'yaml';
import { formatBytes } from '../units.ts';
import type { Finding } from './findings.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { isOpenQuote, syntaxFaults } from './syntax.ts';
import type { Fault } from './types.ts';
import { Locator } from './yaml-locate.ts';
import type { Place, Plain, YamlPath } from './yaml-types.ts';
import { Walk } from './yaml-walk.ts';

export interface YamlSource {
  readonly value: Plain;
  /** Values that cannot be read, and are null in `value`, and keys that stand twice. */
  readonly findings: readonly Finding[];
  /** Where the value at this path stands, or the key itself; the nearest parent where there is none. */
  readonly locate: (path: YamlPath, what: 'key' | 'value') => Place;
}

/** Faults of the syntax, or of the amount, leave nothing that could be looked at. */
export function readYaml(
  text: string,
  file: string,
): { ok: true; source: YamlSource } | { ok: false; faults: Fault[] } {
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.fileBytes) {
    return failed(
      file,
      `the file has ${formatBytes(bytes)}; at most ${formatBytes(LIMITS.fileBytes)} are read`,
    );
  }
  const lines = new LineCounter();
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const tokens = tokensOf(text, lines);
  if ('fault' in tokens) return failed(file, tokens.fault, at(tokens.offset));
  const documents = [...new Composer({ uniqueKeys: false, prettyErrors: false }).compose(tokens.tokens)];
  const [first, second] = documents;
  if (!first?.contents) return failed(file, 'the file is empty; expected a map with jobs');
  if (second) return failed(file, 'a second document starts here; expected one', at(second.range[0]));
  if (first.errors.length > 0) {
    const problems = syntaxFaults(text, first.errors, tokens.openQuotes);
    return { ok: false, faults: problems.map(({ offset, message }) => ({ file, ...at(offset), message })) };
  }
  const walk = new Walk(first);
  const value = walk.plain(first.contents);
  if (walk.overflow) return failed(file, walk.overflow.message, at(walk.overflow.offset));
  const findings = walk.faults.map(
    ({ path, offset, message, twice }): Finding => ({
      path,
      what: 'key',
      message,
      at: at(offset),
      ...(twice ? { keyAlone: true } : {}),
    }),
  );
  const locator = new Locator(first);
  return { ok: true, source: { value, findings, locate: (path, what) => at(locator.offsetOf(path, what)) } };
}

function failed(file: string, message: string, at = { line: 1, column: 1 }): { ok: false; faults: Fault[] } {
  return { ok: false, faults: [{ file, ...at, message }] };
}

/**
 * The composer recurses, and on input nested deep enough it takes the whole process down, past any
 * `catch`; so depth and amount are bounded while tokens are read, which does not recurse.
 */
function tokensOf(
  text: string,
  lines: LineCounter,
): { tokens: CST.Token[]; openQuotes: number[] } | { fault: string; offset: number } {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  const openQuotes: number[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (isOpenQuote(lexeme)) openQuotes.push(parser.offset);
    tokens.push(...parser.next(lexeme));
    count += 1;
    if (count > LIMITS.tokens) {
      return {
        fault: `more than ${LIMITS.tokens} pieces of YAML; expected a workflow`,
        offset: parser.offset,
      };
    }
    if (parser.stack.length > 2 * LIMITS.depth) {
      return { fault: `more than ${LIMITS.depth} levels within one another`, offset: parser.offset };
    }
  }
  tokens.push(...parser.end());
  return { tokens, openQuotes };
}
