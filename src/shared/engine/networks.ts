import type { Engine, EngineCallOptions } from './engine.ts';
import { labelArguments } from './owned.ts';
import type { EngineReply } from './types.ts';

/** What docker and podman say when every subnet that they may give away is in use. */
const NO_SUBNET = /address pools?\b|fully subnetted|free subnet/i;

/** `failed` with this true: no other network can be made until one is removed. */
export function isOutOfSubnets(why: string): boolean {
  return NO_SUBNET.test(why);
}

/** Makes a network on which its containers find one another by their aliases; gives what the engine printed. */
export async function createNetwork(
  engine: Engine,
  name: string,
  labels: Readonly<Record<string, string>>,
  options: EngineCallOptions = {},
): Promise<EngineReply<string>> {
  return await engine.call(['network', 'create', ...labelArguments(labels), name], options);
}
