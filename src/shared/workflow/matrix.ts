import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import type { MatrixEntry } from './types.ts';
import { quoted } from './words.ts';

export interface RawMatrix {
  readonly include?: readonly MatrixEntry[] | undefined;
  readonly exclude?: readonly MatrixEntry[] | undefined;
  readonly [name: string]: readonly string[] | readonly MatrixEntry[] | undefined;
}

/**
 * All entries of a matrix, as GitHub Actions makes them: the product of the values, less `exclude`;
 * then each `include` adds its values to the entries that it contradicts in no original value, or
 * stands as an entry of its own where there is none. Too many are a fault, found before they are made,
 * and so are two equal ones.
 */
export function matrixEntries(matrix: RawMatrix): { entries: MatrixEntry[] } | { fault: string } {
  const axes = Object.entries(matrix).filter(([name]) => name !== 'include' && name !== 'exclude') as [
    string,
    readonly string[],
  ][];
  const include = matrix.include ?? [];
  const exclude = matrix.exclude ?? [];
  const product = axes.length === 0 ? 0 : axes.reduce((count, [, values]) => count * values.length, 1);
  // An exclude may bring a product down to the limit, so a little over it is still made.
  if (product > 16 * LIMITS.matrixEntries) return tooMany(product);
  let combinations: MatrixEntry[] = product === 0 ? [] : [{}];
  for (const [name, values] of axes) {
    combinations = combinations.flatMap((entry) => values.map((value) => ({ ...entry, [name]: value })));
  }
  const kept = combinations.filter((entry) => !exclude.some((pattern) => agrees(entry, pattern)));
  if (kept.length > LIMITS.matrixEntries) return tooMany(kept.length);
  const names = new Set(axes.map(([name]) => name));
  const entries = kept.map((entry) => ({ ...entry }));
  const added: MatrixEntry[] = [];
  for (const extra of include) {
    const fitting = entries.filter((_, index) => contradictsNothing(kept[index], extra, names));
    for (const entry of fitting) Object.assign(entry, extra);
    if (fitting.length === 0) added.push(extra);
  }
  const all = [...entries, ...added];
  if (all.length > LIMITS.matrixEntries) return tooMany(all.length);
  if (all.length === 0) return { fault: 'the matrix has no entries' };
  const twice = equalEntry(all);
  if (twice === null) return { entries: all };
  const values = quoted(Object.values(twice).join(', '));
  return { fault: `the matrix has the entry ${values} twice; expected entries that differ` };
}

/** Nobody could tell the runs of equal entries apart. */
function equalEntry(entries: readonly MatrixEntry[]): MatrixEntry | null {
  const seen = new Set<string>();
  for (const entry of entries) {
    const content = JSON.stringify(Object.entries(entry).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    if (seen.has(content)) return entry;
    seen.add(content);
  }
  return null;
}

function tooMany(count: number): { fault: string } {
  return { fault: `${count} matrix entries; at most ${LIMITS.matrixEntries} are allowed` };
}

function agrees(entry: MatrixEntry, pattern: MatrixEntry): boolean {
  return Object.entries(pattern).every(([name, value]) => entry[name] === value);
}

function contradictsNothing(
  original: MatrixEntry | undefined,
  extra: MatrixEntry,
  names: ReadonlySet<string>,
): boolean {
  return Object.entries(extra).every(([name, value]) => !names.has(name) || original?.[name] === value);
}
