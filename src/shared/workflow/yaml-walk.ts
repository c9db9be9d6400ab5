import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type Scalar,
} from 'yaml';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { quoted } from './words.ts';
import type { Plain, YamlPath } from './yaml-types.ts';

type Node = ParsedNode | null | undefined;

export interface WalkFault {
  readonly path: YamlPath;
  readonly offset: number;
  readonly message: string;
  /** Of two equal keys: the first value is read and the second left out. */
  readonly twice: boolean;
}

/** Turns nodes into plain data, with all bounds that aliases could break. What is faulty becomes null. */
export class Walk {
  readonly faults: WalkFault[] = [];
  readonly #tree: Document.Parsed;
  #nodes = 0;
  #chars = 0;
  #overflow: WalkFault | null = null;

  constructor(tree: Document.Parsed) {
    this.#tree = tree;
  }

  /** Where a bound was met and the rest left out, so that nothing can be said of the whole. */
  get overflow(): WalkFault | null {
    return this.#overflow;
  }

  plain(node: Node, path: YamlPath = [], depth = 0): Plain {
    if (!node || this.#overflow) return null;
    this.#nodes += 1;
    if (this.#nodes > LIMITS.nodes || this.#chars > LIMITS.textChars || depth > LIMITS.depth) {
      const message = 'aliases make too much of this file; expected a workflow of reasonable size';
      this.#overflow = { path, offset: node.range[0], message, twice: false };
      return null;
    }
    if (isAlias(node)) {
      const target = node.resolve(this.#tree) as Node;
      if (target) return this.plain(target, path, depth + 1);
      return this.#fault(
        node,
        path,
        `${quoted(`*${node.source}`)} has no anchor; expected quotes if it is a text`,
      );
    }
    if (node.tag && node.tag !== 'tag:yaml.org,2002:str') {
      const tag = node.tag.replace('tag:yaml.org,2002:', '!!');
      return this.#fault(
        node,
        path,
        `the tag ${quoted(tag)} means nothing here; expected quotes if it is a text`,
      );
    }
    if (isSeq(node)) {
      return node.items.map((item, index) => this.plain(item as Node, [...path, index], depth + 1));
    }
    if (isMap(node)) return this.#map(node.items, path, depth);
    const text = scalarText(node);
    this.#chars += text?.length ?? 0;
    if (text?.includes('\0')) return this.#fault(node, path, 'a NUL character; expected text');
    return text;
  }

  #map(items: readonly Pair<ParsedNode, Node>[], path: YamlPath, depth: number): Plain {
    const map: Record<string, Plain> = {};
    for (const { key, value } of items) {
      const name = isScalar(key) ? scalarText(key) : null;
      const at = name === null ? path : [...path, name];
      if (name === null)
        this.#fault(key, at, 'this cannot be a key; expected a name, or quotes around a text');
      else if (name === '__proto__') this.#fault(key, at, 'this cannot be a key; expected a name');
      else if (Object.hasOwn(map, name))
        this.#fault(key, at, `the key ${quoted(name)} stands here twice`, true);
      else map[name] = this.plain(value, at, depth + 1);
    }
    return map;
  }

  #fault(node: Node, path: YamlPath, message: string, twice = false): null {
    this.faults.push({ path, offset: node?.range?.[0] ?? 0, message, twice });
    return null;
  }
}

/** The text that was written; null where there is none, `~` or `null`. */
export function scalarText(node: Scalar): string | null {
  if (node.value === null) return null;
  return typeof node.value === 'string' ? node.value : (node.source ?? '');
}
