import { Engine } from '../../shared/engine/engine.ts';
import { objectsWith, removeObjects, removeOrphans } from '../../shared/engine/objects.ts';
import { engineName, LABEL } from '../../shared/engine/owned.ts';
import { ENGINES, type EngineFacts } from '../../shared/engine/types.ts';
import type { OwnerRecord } from '../../shared/owner-record.ts';

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
  const found = await objectsWith(engine, LABEL.directory, directory, LABEL.process);
  if (!found.ok) return [`containers of dead runners cannot be looked for: ${found.failure.why}`];
  const dead = found.value.filter(({ other }) => !lives(other)).map(({ object }) => object);
  const removed = await removeObjects(engine, dead);
  if (!removed.ok) return [`containers of dead runners cannot be removed: ${removed.failure.why}`];
  return dead.map(({ kind, name }) => `removed ${kind} ${name}, whose runner has died`);
}
