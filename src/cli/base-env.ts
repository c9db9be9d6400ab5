import type { CliContext } from './context.ts';

/** What jobs get of the environment that vole was started in: PATH, and what `--job-env` names. */
export function baseEnv(context: CliContext, names: readonly string[]): Record<string, string> {
  const env: Record<string, string> = { PATH: context.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin' };
  for (const name of names) {
    const value = context.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
