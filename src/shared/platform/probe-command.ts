import { execa } from 'execa';

export type Probe = { ok: true; output: string } | { ok: false; found: boolean; why: string };

/** Runs a short command for what it prints, such as its version. Never throws, ends within `timeoutMs`. */
export async function probeCommand(
  file: string,
  args: readonly string[],
  options: { cwd?: string; timeoutMs?: number } = {},
): Promise<Probe> {
  const result = await execa(file, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    timeout: options.timeoutMs ?? 10_000,
    forceKillAfterDelay: 1_000,
    reject: false,
    stdin: 'ignore',
    all: true,
    maxBuffer: 100_000,
  });
  const output = result.all.trim();
  if (!result.failed) return { ok: true, output };
  const found = result.code !== 'ENOENT';
  const last = output.split('\n').findLast((line) => /error/i.test(line)) ?? output.split('\n').at(-1);
  return { ok: false, found, why: last || (result.shortMessage ?? 'it failed') };
}
