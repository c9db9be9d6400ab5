import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, type ParsedNode } from 'yaml';
import type { YamlPath } from './yaml-types.ts';
import { scalarText } from './yaml-walk.ts';

type Node = ParsedNode | null | undefined;
type Pairs = ReadonlyMap<string | null, Pair<ParsedNode, Node>>;

/** Finds offsets by paths. Each map is indexed once: a stranger's file may have a fault at each of its keys. */
export class Locator {
  readonly #tree: Document.Parsed;
  readonly #pairs = new Map<Node, Pairs>();

  constructor(tree: Document.Parsed) {
    this.#tree = tree;
  }

  /** Of the value at this path, or of the key itself; of the nearest parent where there is none. */
  offsetOf(path: YamlPath, what: 'key' | 'value'): number {
    let node = this.#resolved(this.#tree.contents);
    let offset = node?.range?.[0] ?? 0;
    for (const [index, part] of path.entries()) {
      let next: Node = null;
      if (isMap(node)) {
        const pair = this.#pairsOf(node).get(String(part));
        if (!pair) return offset;
        offset = pair.key.range[0];
        if (index === path.length - 1 && what === 'key') return offset;
        next = pair.value;
      } else if (isSeq(node) && typeof part === 'number') {
        next = node.items[part] as Node;
      }
      if (!next) return offset;
      offset = next.range?.[0] ?? offset;
      node = this.#resolved(next);
    }
    return offset;
  }

  #pairsOf(node: ParsedNode): Pairs {
    const before = this.#pairs.get(node);
    if (before) return before;
    const pairs = new Map<string | null, Pair<ParsedNode, Node>>();
    for (const pair of isMap(node) ? (node.items as Pair<ParsedNode, Node>[]) : []) {
      const name = isScalar(pair.key) ? scalarText(pair.key) : null;
      if (!pairs.has(name)) pairs.set(name, pair);
    }
    this.#pairs.set(node, pairs);
    return pairs;
  }

  #resolved(node: Node): Node {
    return isAlias(node) ? (node.resolve(this.#tree) as Node) : node;
  }
}
