import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

export const packaging = path.resolve(import.meta.dirname, '../../packaging');

export interface ComposeService {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { condition: string }>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly network_mode?: string;
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, object>>;
  readonly secrets: Readonly<Record<string, { file: string }>>;
}

/** A variable of the file: with a default, or needed. */
const VARIABLE = /\$\{([A-Z][A-Z0-9_]*)(:[-?])([^}]*)\}/g;

export interface ComposeVariable {
  readonly name: string;
  /** Null where it has to be set. */
  readonly default: string | null;
}

export function composeText(): string {
  return readFileSync(path.join(packaging, 'compose.yaml'), 'utf8');
}

/** Every place where the file uses one. Comments do not count. */
export function composeVariables(text = composeText()): ComposeVariable[] {
  const found = [...text.replaceAll(/^\s*#.*$/gm, '').matchAll(VARIABLE)];
  return found.map(([, name = '', kind, rest = '']) => ({ name, default: kind === ':-' ? rest : null }));
}

/** The file with its variables filled in as Compose does it: in what is text already; empty is not set. */
export function compose(values: Readonly<Record<string, string>> = {}): Compose {
  return filled(parse(composeText()), values) as Compose;
}

function filled(node: unknown, values: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(node)) return node.map((part) => filled(part, values));
  if (typeof node === 'object' && node !== null) {
    return Object.fromEntries(Object.entries(node).map(([key, part]) => [key, filled(part, values)]));
  }
  if (typeof node !== 'string') return node;
  return node.replaceAll(VARIABLE, (_, name: string, kind: string, rest: string) => {
    const value = values[name];
    if (value) return value;
    if (kind === ':?') throw new Error(`${name} is missing: ${rest}`);
    return rest;
  });
}
