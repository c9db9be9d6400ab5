import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  type ParsedNode,
  Parser,
  type Scalar,
} from 'yaml';
import { formatBytes } from '../units.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import type { Fault } from './types.ts';

/**
 * Plain data of a YAML text in which every scalar stays the text that was written (`1.10` is not
 * 1.1, `yes` is no boolean); a value left out, `~` and `null` are null.
 */
export type Plain = string | null | Plain[] | { [key: string]: Plain };

export type YamlPath = readonly PropertyKey[];

export interface YamlSource {
  readonly value: Plain;
  /** Where the value at this path stands, or the key itself; the nearest parent where there is none. */
  locate(path: YamlPath, what: 'key' | 'value'): { line: number; column: number };
}

type Node = ParsedNode | null | undefined;
type Tree = Document.Parsed;

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
  const [first, second] = documents as Tree[];
  if (!first?.contents) return failed(file, 'the file is empty; expected a map with jobs');
  if (second) return failed(file, 'a second document starts here; expected one', at(second.range[0]));
  const problems = first.errors.slice(0, LIMITS.faults).map((error) => ({
    file,
    ...at(error.pos[0]),
    message: syntaxMessage(error.code, error.message),
  }));
  if (problems.length > 0) return { ok: false, faults: problems };
  const walk = new Walk(first);
  const value = walk.plain(first.contents, 0);
  if (walk.faults.length > 0) {
    const faults = walk.faults.slice(0, LIMITS.faults);
    return { ok: false, faults: faults.map(({ offset, message }) => ({ file, ...at(offset), message })) };
  }
  return { ok: true, source: { value, locate: (path, what) => at(offsetOf(first, path, what)) } };
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
): { tokens: CST.Token[] } | { fault: string; offset: number } {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
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
  return { tokens };
}

/** The parser's own words, but for those that can be said better. */
function syntaxMessage(code: string, message: string): string {
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'a tab indents this line; expected spaces';
    case 'MULTIPLE_DOCS':
      return 'a second document starts here; expected one';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'a second `: ` on one line, or a wrong indent; expected quotes around a text that holds `: `';
    default:
      return message.split('\n', 1)[0] ?? message;
  }
}

/** Turns nodes into plain data, with all bounds that aliases could break. */
class Walk {
  readonly faults: { offset: number; message: string }[] = [];
  readonly #tree: Tree;
  #nodes = 0;
  #chars = 0;
  #full = false;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  plain(node: Node, depth: number): Plain {
    if (!node || this.#full) return null;
    this.#nodes += 1;
    if (this.#nodes > LIMITS.nodes || this.#chars > LIMITS.textChars || depth > LIMITS.depth) {
      this.#full = true;
      return this.#fault(node, 'aliases make too much of this file; expected a workflow of reasonable size');
    }
    if (isAlias(node)) {
      const target = node.resolve(this.#tree) as Node;
      return target ? this.plain(target, depth + 1) : this.#fault(node, `\`*${node.source}\` has no anchor`);
    }
    if (node.tag && node.tag !== 'tag:yaml.org,2002:str') {
      return this.#fault(node, `the tag ${node.tag.replace('tag:yaml.org,2002:', '!!')} means nothing here`);
    }
    if (isSeq(node)) return node.items.map((item) => this.plain(item as Node, depth + 1));
    if (isMap(node)) return this.#map(node.items, depth);
    const text = scalarText(node);
    this.#chars += text?.length ?? 0;
    if (text?.includes('\0')) return this.#fault(node, 'a NUL character; expected text');
    return text;
  }

  #map(items: readonly Pair<ParsedNode, Node>[], depth: number): Plain {
    const map: Record<string, Plain> = {};
    for (const { key, value } of items) {
      const name = isScalar(key) ? scalarText(key) : null;
      if (name === null || name === '__proto__') this.#fault(key, 'this cannot be a key; expected a name');
      else if (Object.hasOwn(map, name)) this.#fault(key, `the key \`${name}\` stands here twice`);
      else map[name] = this.plain(value, depth + 1);
    }
    return map;
  }

  #fault(node: Node, message: string): null {
    this.faults.push({ offset: node?.range?.[0] ?? 0, message });
    return null;
  }
}

function scalarText(node: Scalar): string | null {
  if (node.value === null) return null;
  return typeof node.value === 'string' ? node.value : (node.source ?? '');
}

function offsetOf(tree: Tree, path: YamlPath, what: 'key' | 'value'): number {
  let node = resolved(tree, tree.contents);
  let offset = node?.range?.[0] ?? 0;
  for (const [index, part] of path.entries()) {
    const last = index === path.length - 1;
    let next: Node = null;
    if (isMap(node)) {
      const pair = (node.items as Pair<ParsedNode, Node>[]).find(
        ({ key }) => isScalar(key) && scalarText(key as Scalar) === part,
      );
      if (!pair) return offset;
      offset = pair.key.range[0];
      if (last && what === 'key') return offset;
      next = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      next = node.items[part] as Node;
    }
    if (!next) return offset;
    offset = next.range?.[0] ?? offset;
    node = resolved(tree, next);
  }
  return offset;
}

function resolved(tree: Tree, node: Node): Node {
  return isAlias(node) ? (node.resolve(tree) as Node) : node;
}
