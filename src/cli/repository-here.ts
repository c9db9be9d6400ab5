import { existsSync } from 'node:fs';
import path from 'node:path';
import { VoleError } from '../shared/errors.ts';
import { runCommand } from '../shared/platform/commands.ts';

/** Name of the workflow file at the top of a repository. */
export const WORKFLOW = '.vole.yml';

/** Room for a line of each of a million files. */
const OUTPUT_BYTES = 256 * 1024 * 1024;

/** `input`: its standard input. */
export type Git = (args: readonly string[], input?: string) => Promise<string>;

/** The top of the checkout that git stands in, or null where there is none. */
export function repositoryTop(git: Git): Promise<string | null> {
  return attempt(() => git(['rev-parse', '--show-toplevel']));
}

/** The way from `folder` to the workflow file of `top`, as a person there would write it. */
export function wayToWorkflow(folder: string, top: string): string {
  return path.join(path.relative(folder, top), WORKFLOW);
}

/** Why a file that a person sees in `folder` is not the one that is looked for; empty where there is none. */
export function strayWorkflow(folder: string, top: string): string {
  const isStray = folder !== top && existsSync(path.join(folder, WORKFLOW));
  return isStray ? `the one in ${folder} is not at the top of the repository` : '';
}

/** Git's standard output, trimmed; throws `VoleError`, `io-error` where git says no. */
export function gitIn(folder: string, env: Record<string, string>, signal?: AbortSignal): Git {
  return async (args, input) => {
    const given = input === undefined ? {} : { input };
    const bounds = { timeoutMs: 600_000, maxOutputBytes: OUTPUT_BYTES };
    const done = await runCommand('git', args, { cwd: folder, env, signal, ...bounds, ...given });
    if (done.missing) throw new VoleError('missing-tool', 'git is not on this host: install it');
    if (done.aborted) throw new VoleError('interrupted', 'interrupted before any job began');
    if (!done.ok) throw new VoleError('io-error', `git ${subcommand(args)} in ${folder}: ${done.why}`);
    return done.stdout.trim();
  };
}

/** `commit` of `-c NAME=VALUE commit ...`. */
function subcommand(args: readonly string[]): string {
  return args.find((arg, at) => arg !== '-c' && args[at - 1] !== '-c') ?? '';
}

/** Null where git says no; a git that is missing or was stopped has said nothing. */
export async function attempt(ask: () => Promise<string>): Promise<string | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof VoleError && error.code !== 'io-error') throw error;
    return null;
  }
}
