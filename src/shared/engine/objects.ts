import { removeContainers, removeNamed } from './containers.ts';
import type { Engine, EngineCallOptions } from './engine.ts';
import type { EngineObject, EngineReply } from './types.ts';

/** Removes what may exist: containers first, since a network that is in use stays. */
export async function removeObjects(
  engine: Engine,
  objects: readonly EngineObject[],
  options: EngineCallOptions = {},
): Promise<EngineReply<null>> {
  const named = (kind: EngineObject['kind']): string[] =>
    objects.filter((object) => object.kind === kind).map(({ name }) => name);
  const removed = await removeContainers(engine, named('container'), options);
  return removed.ok ? await removeNetworks(engine, named('network'), options) : removed;
}

/** That one is not there is no failure. */
export async function removeNetworks(
  engine: Engine,
  names: readonly string[],
  options: EngineCallOptions = {},
): Promise<EngineReply<null>> {
  return await removeNamed(engine, ['network', 'rm'], names, options);
}
