import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { removeContainers } from '../../src/shared/engine/containers.ts';
import { IMAGE_LABEL } from '../../src/shared/engine/owned.ts';
import { processesWithEnvPrefix, signalProcess } from '../../src/shared/platform/processes.ts';
import type { TestEngine } from './engine-rig.ts';
import type { Cleanup } from './temp.ts';
import { until } from './until.ts';

/** Of a runner's directory. */
export function directoryId(dir: string): string {
  return (JSON.parse(readFileSync(path.join(dir, 'format.json'), 'utf8')) as { id: string }).id;
}

/** Every tag that the engine gives from now on, as it says itself. */
export class ImageEvents {
  readonly #child: ChildProcess;
  #said = '';

  constructor({ facts }: TestEngine) {
    const filters = ['--filter', 'type=image', '--filter', 'event=tag'];
    const args = ['events', '--since', String(Math.floor(Date.now() / 1000)), ...filters];
    const format = ['--format', '{{.Actor.Attributes.name}}'];
    this.#child = spawn(facts.name, [...args, ...format], {
      env: facts.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child.stdout?.on('data', (bytes: Buffer) => {
      this.#said += bytes.toString();
    });
  }

  /** Tags of the images built for a directory, a line an event; at least one is waited for. */
  async tagged(directory: string): Promise<string[]> {
    const lines = (): string[] => this.#said.split('\n').filter((line) => line.endsWith(`:${directory}`));
    await until('an event of a tag', () => lines().length > 0);
    return lines();
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'close');
  }
}

/** The container of a build's step whose command has this text, once there is one. */
export async function stepContainer(engine: TestEngine, text: string): Promise<string> {
  return await until(`the container of the step with ${text}`, async () => {
    const listed = await engine.call('ps', '--no-trunc', '--format', '{{.ID}} {{.Command}}');
    const line = listed.split('\n').find((one) => one.includes(text));
    return line?.split(' ', 1)[0] ?? null;
  });
}

/**
 * What runners of the directory left that were killed: builds that go on, containers, images. To be called
 * once no runner of it lives.
 */
export async function removeLeft(engine: TestEngine, directory: string): Promise<void> {
  await until('the builds to have ended', () => {
    const left = processesWithEnvPrefix('VOLE_JOB_MARKER', `${directory}/`);
    for (const { pid } of left) signalProcess(pid, 'SIGKILL');
    return left.length === 0;
  });
  // A client that a runner has left may be removing some of them too.
  const removed = await removeContainers(
    engine.engine,
    await engine.containers(`vole.directory=${directory}`),
  );
  if (!removed.ok) throw new Error(removed.failure.why);
  const label = `label=vole.directory=${directory}`;
  const networks = (await engine.call('network', 'ls', '--quiet', '--filter', label))
    .split('\n')
    .filter(Boolean);
  if (networks.length > 0) await engine.call('network', 'rm', ...networks);
  await removeBuiltImages(engine, directory);
}

/** The same at the end of a test on this directory, which may never have been made. */
export function removeLeftAtEnd(cleanup: Cleanup, engine: TestEngine, dir: string): void {
  cleanup.defer(async () => {
    if (existsSync(path.join(dir, 'format.json'))) await removeLeft(engine, directoryId(dir));
  });
}

/** What was built for the runner's directory, where there is one. */
export async function removeBuiltImages(engine: TestEngine, directory: string): Promise<void> {
  await removeImages(engine, `${IMAGE_LABEL.directory}=${directory}`);
}

/** All that carry this label. */
export async function removeImages(engine: TestEngine, label: string): Promise<void> {
  const listed = await engine.call('images', '--quiet', '--no-trunc', '--filter', `label=${label}`);
  const ids = [...new Set(listed.split('\n').filter(Boolean))];
  if (ids.length > 0) await engine.call('rmi', '--force', ...ids);
}
