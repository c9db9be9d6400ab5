import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { containerState, startContainer } from '../../src/shared/engine/containers.ts';
import { removeObjects, removeOrphans } from '../../src/shared/engine/objects.ts';
import type { EngineObject } from '../../src/shared/engine/types.ts';
import { signalGroup } from '../../src/shared/platform/processes.ts';
import { useEngine } from '../support/engine-rig.ts';
import { Cleanup } from '../support/temp.ts';

const engine = useEngine();
const cleanup = new Cleanup();
afterEach(() => cleanup.run());

/** Starts a container without waiting for it, as a worker does that is then ended. */
function making(onSpawn: (pgid: number) => void = () => {}) {
  const { engine: docker, facts, image } = engine();
  const name = `vole-test-${randomBytes(6).toString('hex')}`;
  const marker = `test/${name}`;
  const spec = {
    name,
    labels: {},
    image,
    limits: { memoryBytes: null, cpus: null, pids: null },
    user: null,
    mounts: [],
    network: null,
    command: ['/bin/sleep', '600'],
  } as const;
  cleanup.defer(async () => void (await removeObjects(docker, [object])));
  const object: EngineObject = { kind: 'container', engine: facts.name, name };
  return { object, marker, made: startContainer(docker, spec, { marker, onSpawn }) };
}

const isThere = async ({ name }: EngineObject): Promise<boolean> => {
  const state = await containerState(engine().engine, name);
  if (!state.ok) throw new Error(state.failure.why);
  return state.value !== null;
};

describe('removing what a worker that has died may have made', () => {
  test('waits for the client that is making it', async () => {
    for (let round = 0; round < 3; round++) {
      const { object, marker, made } = making();
      expect(await removeOrphans(engine().engine, [object], marker)).toMatchObject({ ok: true });
      await made;
      expect(await isThere(object)).toBe(false);
    }
  });

  test('and for the engine where that client has died too', async () => {
    for (const ms of [20, 40, 60, 100]) {
      const { object, marker, made } = making((pgid) => {
        setTimeout(() => signalGroup(pgid, 'SIGKILL'), ms);
      });
      await made;
      expect(await removeOrphans(engine().engine, [object], marker)).toMatchObject({ ok: true });
      await delay(500);
      expect(await isThere(object), `killed after ${ms} ms`).toBe(false);
    }
  });
});

test('several are removed though some are not there', async () => {
  const { object, made } = making();
  await made;
  const absent = ['a', 'b'].map((part): EngineObject => ({ ...object, name: `${object.name}.${part}` }));
  const network: EngineObject = { ...object, kind: 'network', name: `${object.name}.net` };
  const removed = await removeObjects(engine().engine, [object, ...absent, network]);
  expect(removed).toEqual({ ok: true, value: null });
  expect(await isThere(object)).toBe(false);
});

test('one that is being removed by somebody else is waited for', async () => {
  const { object, made } = making();
  await made;
  const both = await Promise.all([1, 2, 3].map(() => removeObjects(engine().engine, [object])));
  expect(both.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(await isThere(object)).toBe(false);
});
