import { plain } from '../../shared/plain-text.ts';

/** Columns as wide as their widest cell, two spaces between, nothing at a line's end. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return columns([head, ...rows])
    .map((line) => `${line}\n`)
    .join('');
}

/** The same as lines, of rows alone. `paint` gets each cell with its spaces. */
export function columns(
  rows: readonly (readonly string[])[],
  paint: (cell: string, row: number, column: number) => string = (cell) => cell,
): string[] {
  const cells = rows.map((row) => row.map(cellText));
  const widths = widthsOf(cells);
  return cells.map((row, at) =>
    row
      .map((cell, column) => paint(cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell)), at, column))
      .join('  ')
      .trimEnd(),
  );
}

/** No column is cut to less. */
const LEAST = 8;

/**
 * The rows with their cells cut so that the table is no wider than `width`: always the widest column, of those
 * in `cuttable`. Null where that does not do.
 */
export function fitted(
  rows: readonly (readonly string[])[],
  width: number,
  cuttable: readonly number[],
): string[][] | null {
  const cells = rows.map((row) => row.map(cellText));
  const widths = widthsOf(cells);
  let over = widths.reduce((sum, one) => sum + one, 2 * (widths.length - 1)) - width;
  for (; over > 0; over--) {
    const widest = cuttable.reduce((a, b) => ((widths[b] ?? 0) > (widths[a] ?? 0) ? b : a), cuttable[0] ?? 0);
    if ((widths[widest] ?? 0) <= LEAST) return null;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return cells.map((row) => row.map((cell, column) => cut(cell, widths[column] ?? 0)));
}

/** At most so many code points, the last of them an ellipsis where something is missing. */
export function cut(text: string, most: number): string {
  const points = Array.from(text);
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`;
}

function widthsOf(cells: readonly (readonly string[])[]): number[] {
  const count = Math.max(0, ...cells.map((row) => row.length));
  return Array.from({ length: count }, (_, column) =>
    Math.max(...cells.map((row) => lengthOf(row[column] ?? ''))),
  );
}

function cellText(cell: string): string {
  return plain(cell).replace(/[\t\n]/g, ' ');
}

/** Code points, not UTF-16 units. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
