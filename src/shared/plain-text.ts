/** Words and times as pages and tables show them. */

export function age(atMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - atMs) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** `refs/heads/main` as `main`. */
export function shortRef(ref: string): string {
  return ref.replace(/^refs\/(?:heads|tags)\//, '');
}

/** Without terminal sequences and control characters: neither a page nor a table has a use for them. */
export function plain(text: string): string {
  return (
    text
      // oxlint-disable-next-line no-control-regex
      .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g, '')
      // oxlint-disable-next-line no-control-regex
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
  );
}

/**
 * Of a line that draws over itself, as progress bars do with carriage returns, what a terminal would
 * show at last: the last part with text in it.
 */
export function lastDrawn(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => plain(part).trim() !== '') ?? '';
}
