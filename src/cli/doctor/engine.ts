import { existsSync } from 'node:fs';
import path from 'node:path';
import { remedyFor } from '../../runner/engine/choose-engine.ts';
import { findLeftovers } from '../../runner/engine/leftovers.ts';
import { Engine } from '../../shared/engine/engine.ts';
import { ENGINES, type EngineFailure, type EngineName } from '../../shared/engine/types.ts';
import { oneLine } from '../../shared/errors.ts';
import { type Check, missing, ok, warn } from './check.ts';

/** Of the engine that a runner would take, and what is left in it of the directory, where there is one. */
export async function engineChecks(
  setting: EngineName | 'auto' | 'none',
  dir: string | null,
  env: Readonly<Record<string, string>>,
): Promise<Check[]> {
  const checks: Check[] = [];
  const failures: [EngineName, EngineFailure][] = [];
  const names = setting === 'none' ? [] : setting === 'auto' ? ENGINES : [setting];
  for (const name of names) {
    const answer = await new Engine({ name, env }).ping();
    if (!answer.ok) {
      failures.push([name, answer.failure]);
      continue;
    }
    checks.push(ok('engine', `${name} answers`));
    if (dir !== null && existsSync(path.join(dir, 'format.json'))) {
      const left = await findLeftovers({ name, env }, dir).catch((error: unknown) => oneLine(error));
      checks.push(judgeLeftovers(left));
    }
    return checks;
  }
  return [judgeNoEngine(setting, failures)];
}

/** `failures`: of each that was asked. */
export function judgeNoEngine(
  setting: EngineName | 'auto' | 'none',
  failures: readonly [EngineName, EngineFailure][],
): Check {
  const name = 'engine';
  if (setting === 'none') return ok(name, 'none, as --engine says: jobs with an image are refused');
  // One that is here and does not answer is more likely broken than not wanted.
  const [which, failure] = failures.find(([, { reason }]) => reason !== 'missing') ?? failures[0] ?? [];
  if (!which || !failure) return ok(name, 'none');
  const remedy = remedyFor(which, failure.reason);
  if (setting !== 'auto')
    return missing(name, failure.why, `Without it the runner does not start: ${remedy}.`);
  const found = failures.every(([, { reason }]) => reason === 'missing')
    ? 'neither docker nor podman is in PATH'
    : failure.why;
  return warn(name, found, `Jobs with an image will be refused: ${remedy}.`);
}

/** `left`: of what there is, or why it cannot be looked for. */
export function judgeLeftovers(left: readonly string[] | string): Check {
  const name = 'leftovers';
  if (typeof left === 'string') return warn(name, left, 'Run `vole doctor` as the runner’s user.');
  if (left.length === 0)
    return ok(name, 'no trees, processes, containers, networks or images of dead runners');
  const shown = left.slice(0, 20).join(', ') + (left.length > 20 ? `, and ${left.length - 20} more` : '');
  return warn(name, shown, 'The next start of a runner on this directory removes them.');
}
