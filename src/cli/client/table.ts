import { plain } from '../../shared/plain-text.ts';

/** Columns as wide as their widest cell, two spaces between, nothing at a line's end. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return columns([head, ...rows])
    .map((line) => `${line}\n`)
    .join('');
}

/** The same as lines, of rows alone. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(cellText));
  const count = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...cells.map((row) => width(row[column] ?? ''))),
  );
  return cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd(),
  );
}

function cellText(cell: string): string {
  return plain(cell).replace(/[\t\n]/g, ' ');
}

/** Code points, not UTF-16 units. */
function width(text: string): number {
  return Array.from(text).length;
}
