import { Engine } from '../../shared/engine/engine.ts';
import { ENGINES, type EngineFacts, type EngineFailure, type EngineName } from '../../shared/engine/types.ts';
import { VoleError } from '../../shared/errors.ts';
import type { RunnerLog } from '../options.ts';

/**
 * The engine that jobs with an image get, or null. One that is named must answer: a runner that was set
 * up for containers would else refuse every job that it takes. Throws a VoleError with the remedy.
 */
export async function chooseEngine(
  setting: EngineName | 'auto' | 'none',
  env: Readonly<Record<string, string>>,
  log: RunnerLog,
): Promise<EngineFacts | null> {
  if (setting === 'none') return null;
  for (const name of setting === 'auto' ? ENGINES : [setting]) {
    const facts = { name, env };
    const answer = await new Engine(facts).ping();
    if (answer.ok) {
      log.debug({ engine: name }, 'container engine');
      return facts;
    }
    const { failure } = answer;
    if (setting !== 'auto') throw unusable(name, failure);
    // One that is here and does not answer is more likely broken than not wanted.
    if (failure.reason !== 'missing')
      log.warn({}, `no jobs in containers by ${name}: ${lineOf(name, failure)}`);
  }
  return null;
}

function unusable(name: EngineName, failure: EngineFailure): VoleError {
  const code = failure.reason === 'missing' ? 'missing-tool' : 'engine-unusable';
  return new VoleError(code, `--engine ${name}: ${lineOf(name, failure)}`);
}

function lineOf(name: EngineName, failure: EngineFailure): string {
  return `${failure.why}; ${remedyFor(name, failure.reason)}`;
}

/** What an operator does about an engine that does not answer. */
export function remedyFor(name: EngineName, reason: EngineFailure['reason']): string {
  switch (reason) {
    case 'missing':
      return `install ${name}, or say --engine none`;
    case 'denied':
      return name === 'docker'
        ? "add the runner's user to the group `docker` and log in again, or use a rootless engine"
        : 'see `podman info` as the same user';
    case 'unreachable':
    case 'timeout':
      return name === 'docker' ? 'start it: `systemctl start docker`' : 'see `podman info`';
    case 'failed':
    case 'gone':
    case 'no-image':
    case 'stopped':
      return `see \`${name} ps\` as the same user`;
    default:
      return reason satisfies never;
  }
}
