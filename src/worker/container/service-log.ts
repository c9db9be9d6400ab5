import type { Engine } from '../../shared/engine/engine.ts';

const LINES = 100;
const BYTES = 64 * 1024;
const READ_MS = 15_000;

/** The last of what a service has said, both of its streams in their order; at most 100 lines and 64 KiB. */
export async function lastLines(engine: Engine, name: string): Promise<string[]> {
  const args = ['logs', '--timestamps', '--tail', String(LINES), name];
  const { ok, stdout, stderr } = await engine.callRaw(args, { timeoutMs: READ_MS });
  // Without timestamps they would be two texts of which nobody knew the order.
  const stamped = ok ? [...stdout.split('\n'), ...stderr.split('\n')].filter(Boolean).sort() : [];
  return boundedLines(stamped.map((line) => line.slice(line.indexOf(' ') + 1)).slice(-LINES), BYTES);
}

/** The last ones, as many as are within the bound together. */
export function boundedLines(lines: readonly string[], bytes: number): string[] {
  let left = bytes;
  const from = lines.findLastIndex((line) => {
    left -= Buffer.byteLength(line) + 1;
    return left < 0;
  });
  return lines.slice(from + 1);
}
