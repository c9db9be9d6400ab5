import { plain } from '../../shared/plain-text.ts';

/** Columns as wide as their widest cell, two spaces between, nothing at a line's end. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => plain(cell).replace(/[\t\n]/g, ' ')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ''))));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** Code points, not UTF-16 units. */
function width(text: string): number {
  return Array.from(text).length;
}
