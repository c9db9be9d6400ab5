import { runCommand } from '../../shared/platform/commands.ts';

export type Probe = { ok: true; output: string } | { ok: false; found: boolean; why: string };

/** Runs a short command for what it prints, such as its version. Never throws, ends within ten seconds. */
export async function probe(
  file: string,
  args: readonly string[],
  options: { cwd?: string } = {},
): Promise<Probe> {
  const result = await runCommand(file, args, { ...options, timeoutMs: 10_000, maxOutputBytes: 100_000 });
  if (result.ok) return { ok: true, output: result.stdout.trim() };
  // Of a stack the line that names the error says most, and it is not the last.
  const line = result.stderr.split('\n').find((text) => /^\w*Error\b/.test(text.trim()));
  return { ok: false, found: !result.missing, why: line?.trim() ?? result.why };
}
