import type { Fault } from './types.ts';
import type { Place, Plain, YamlPath } from './yaml-types.ts';

/** Something wrong at a place in the file. */
export interface Finding {
  readonly path: YamlPath;
  /** Whether the key itself is wrong or its value. */
  readonly what: 'key' | 'value';
  readonly message: string;
  /** Only the key is wrong: what stands at and below the path is as good as if it were not. */
  readonly keyAlone?: true;
  /** Where the path does not tell, as of the second of two equal keys. */
  readonly at?: Place;
}

/**
 * Those of `later` that may be told beside `earlier`: what is found at or below a place where
 * something is wrong already is likely to follow from it, and would only mislead.
 */
export function withoutFollowing(later: readonly Finding[], earlier: readonly Finding[]): Finding[] {
  const wrong = new Set(earlier.filter(({ keyAlone }) => !keyAlone).map(({ path }) => JSON.stringify(path)));
  if (wrong.size === 0) return [...later];
  return later.filter(({ path }) => !prefixesOf(path).some((prefix) => wrong.has(JSON.stringify(prefix))));
}

function prefixesOf(path: YamlPath): YamlPath[] {
  return Array.from({ length: path.length + 1 }, (_, length) => path.slice(0, length));
}

/** In the order of the file, each once: an alias stands at several places for one text. */
export function faultsOf(
  findings: readonly Finding[],
  file: string,
  locate: (path: YamlPath, what: Finding['what']) => Place,
): Fault[] {
  const faults = findings.map(({ path, what, message, at }) => ({
    file,
    ...(at ?? locate(path, what)),
    message,
  }));
  faults.sort((a, b) => a.line - b.line || a.column - b.column);
  const seen = new Set<string>();
  return faults.filter(({ line, column, message }) => {
    const words = `${line}:${column}: ${message}`;
    return !seen.has(words) && seen.add(words);
  });
}

/** What stands at the path; undefined where nothing does. */
export function valueAt(plain: Plain, path: YamlPath): Plain | undefined {
  let value: Plain | undefined = plain;
  for (const part of path) {
    if (value === null || value === undefined || typeof value !== 'object') return undefined;
    if (Array.isArray(value)) value = typeof part === 'number' ? value[part] : undefined;
    else value = Object.hasOwn(value, part) ? value[String(part)] : undefined;
  }
  return value;
}
