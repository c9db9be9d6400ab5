import { setTimeout as delay } from 'node:timers/promises';
import { processesWithEnv, signalProcess } from '../platform/processes.ts';
import { removeContainers, removeNamed } from './containers.ts';
import { CLIENT_MARKER_ENV, type Engine, type EngineCallOptions } from './engine.ts';
import type { EngineObject, EngineReply } from './types.ts';

/** How long a client may take to finish what it is making, once nobody waits for it any more. */
const CLIENT_MS = 15_000;
/** How long an engine may take to finish what it was asked for by a client that is gone. */
const MAKING_MS = 3_000;
const LOOK_AGAIN_MS = 300;

/** Removes what may exist: containers first, since a network that is in use stays. */
export async function removeObjects(
  engine: Engine,
  objects: readonly EngineObject[],
  options: EngineCallOptions = {},
): Promise<EngineReply<null>> {
  const named = (kind: EngineObject['kind']): string[] =>
    objects.filter((object) => object.kind === kind).map(({ name }) => name);
  const removed = await removeContainers(engine, named('container'), options);
  return removed.ok ? await removeNamed(engine, ['network', 'rm'], named('network'), options) : removed;
}

/**
 * The same for a job whose worker has died: its clients may still be making something, and so may the
 * engine for a client that has died with it. What is not there is therefore looked for again.
 */
export async function removeOrphans(
  engine: Engine,
  objects: readonly EngineObject[],
  marker: string,
  options: EngineCallOptions = {},
): Promise<EngineReply<null>> {
  if (objects.length === 0) return { ok: true, value: null };
  await clientsEnded(marker);
  const deadline = performance.now() + MAKING_MS;
  for (let left = objects; ; ) {
    const there = await Promise.all(left.map((object) => exists(engine, object, options)));
    const unknown = there.find((reply) => !reply.ok);
    if (unknown && !unknown.ok) return unknown;
    const isThere = (_: EngineObject, at: number): boolean => there[at]?.ok === true && there[at].value;
    const removed = await removeObjects(engine, left.filter(isThere), options);
    if (!removed.ok) return removed;
    left = left.filter((object, at) => !isThere(object, at));
    if (left.length === 0 || performance.now() > deadline) return { ok: true, value: null };
    await delay(LOOK_AGAIN_MS);
  }
}

async function exists(
  engine: Engine,
  { kind, name }: EngineObject,
  options: EngineCallOptions,
): Promise<EngineReply<boolean>> {
  const said = await engine.call(['inspect', '--type', kind, '--format', '{{.Name}}', name], options);
  if (said.ok) return { ok: true, value: true };
  return said.failure.reason === 'gone' ? { ok: true, value: false } : said;
}

/** Waits for the clients that make something for a job, and ends those that take too long. */
async function clientsEnded(marker: string): Promise<void> {
  const deadline = performance.now() + CLIENT_MS;
  for (;;) {
    const clients = processesWithEnv(CLIENT_MARKER_ENV, marker);
    if (clients.length === 0) return;
    if (performance.now() > deadline) {
      for (const { pid } of clients) signalProcess(pid, 'SIGKILL');
      return;
    }
    await delay(20);
  }
}

/** Everything of the engine that carries this label, with the value that each has of another one. */
export async function objectsWith(
  engine: Engine,
  label: string,
  value: string,
  other: string,
): Promise<EngineReply<readonly { object: EngineObject; other: string }[]>> {
  const found: { object: EngineObject; other: string }[] = [];
  for (const kind of ['container', 'network'] as const) {
    const filter = ['--quiet', '--no-trunc', '--filter', `label=${label}=${value}`];
    const listed = await engine.call(
      kind === 'container' ? ['ps', '--all', ...filter] : ['network', 'ls', ...filter],
    );
    if (!listed.ok) return listed;
    for (const id of listed.value.split('\n').filter(Boolean)) {
      const labels = kind === 'container' ? '.Config.Labels' : '.Labels';
      const format = `{{.Name}} {{index ${labels} "${other}"}}`;
      const said = await engine.call(['inspect', '--type', kind, '--format', format, id]);
      if (!said.ok) {
        if (said.failure.reason === 'gone') continue; // removed meanwhile
        return said;
      }
      const [name = '', otherValue = ''] = said.value.split(' ');
      found.push({ object: { kind, engine: engine.name, name: name.replace(/^\//, '') }, other: otherValue });
    }
  }
  return { ok: true, value: found };
}
