import { readdirSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import { Engine } from '../../shared/engine/engine.ts';
import { objectsWith, removeObjects, removeOrphans } from '../../shared/engine/objects.ts';
import { engineName, LABEL } from '../../shared/engine/owned.ts';
import { ENGINES, type EngineFacts, type EngineObject } from '../../shared/engine/types.ts';
import { readOwner } from '../../shared/owner-file.ts';
import type { OwnerRecord } from '../../shared/owner-record.ts';
import { processesWithEnv } from '../../shared/platform/processes.ts';
import { openDir, type RunnerDir } from '../dir/open-dir.ts';
import { ProcessSeats } from '../dir/process-seats.ts';
import { MARKER_ENV } from '../runs/processes-of-run.ts';
import { strayImages } from './built-images.ts';

/**
 * Removes what the owner record of a dead runner's job names, by whichever engine made it; null where
 * nothing of it is left, else why.
 */
export async function removeRecorded(
  { identity, engineObjects }: OwnerRecord,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  // A job on the host may have written to its record: what is not of this run's name is not its to end.
  const named = engineName(identity);
  const own = engineObjects.filter(({ name }) => name === named || name.startsWith(`${named}.`));
  for (const name of ENGINES) {
    const of = own.filter(({ engine }) => engine === name);
    const removed = await removeOrphans(new Engine({ name, env }), of, identity.marker);
    if (!removed.ok) return removed.failure.why;
  }
  return null;
}

/**
 * Removes what carries the directory's label and whose process is dead. Gives a line for each, and for
 * what could not be looked at or removed.
 */
export async function removeLabelled(
  facts: EngineFacts,
  directory: string,
  lives: (process: string) => boolean,
): Promise<string[]> {
  const engine = new Engine(facts);
  const dead = await deadObjects(engine, directory, lives);
  if (typeof dead === 'string') return [`containers of dead runners cannot be looked for: ${dead}`];
  const removed = await removeObjects(engine, dead);
  if (!removed.ok) return [`containers of dead runners cannot be removed: ${removed.failure.why}`];
  return dead.map(({ kind, name }) => `removed ${kind} ${name}, whose runner has died`);
}

/** What carries the directory's label and whose process is dead; a text is why it cannot be looked for. */
async function deadObjects(
  engine: Engine,
  directory: string,
  lives: (process: string) => boolean,
): Promise<EngineObject[] | string> {
  const found = await objectsWith(engine, LABEL.directory, directory, LABEL.process);
  if (!found.ok) return found.failure.why;
  return found.value.filter(({ other }) => !lives(other)).map(({ object }) => object);
}

/**
 * What is left of a runner's directory, and would go at the next start there: as `tree NAME` of a job,
 * `process PID` of one, `container NAME`, `network NAME`, `image NAME`. A text is why it cannot be looked for.
 */
export async function findLeftovers(facts: EngineFacts, root: string): Promise<string[] | string> {
  const dir = await openDir(root);
  const seats = new ProcessSeats(dir);
  const engine = new Engine(facts);
  const dead = await deadObjects(engine, dir.id, (process) => seats.lives(process));
  if (typeof dead === 'string') return dead;
  const images = await strayImages(engine, dir);
  if (typeof images === 'string') return images;
  // Where somebody holds it, it is being built.
  const free = images.filter(({ key }) => {
    const guard = dir.guards.try(guardName.image(key), 'exclusive');
    guard?.release();
    return guard !== null;
  });
  return [
    ...leftTrees(dir, seats),
    ...dead.map(({ kind, name }) => `${kind} ${name}`),
    ...free.map(({ key }) => `image ${key}`),
  ];
}

/** Trees of dead runners' jobs, and what still runs of them, an engine's client that builds for one too. */
function leftTrees(dir: RunnerDir, seats: ProcessSeats): string[] {
  return readdirSync(dir.layout.jobs).flatMap((name) => {
    const owner = readOwner(path.join(dir.layout.jobs, name));
    if (owner === null || owner === 'unreadable' || seats.lives(owner.identity.process)) return [];
    const processes = processesWithEnv(MARKER_ENV, owner.identity.marker);
    return [`tree ${name}`, ...processes.map(({ pid }) => `process ${pid}`)];
  });
}
