import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { WorkerRig } from '../support/worker-rig.ts';

const RUNS = 80;
const GUARDS = 40;

const rig = new WorkerRig({ threads: 4 });
afterAll(() => rig.close());

/** One run; every fifth has its thread ended in the middle, at no particular moment. */
async function one(number: number): Promise<void> {
  const ended = number % 5 === 0;
  const run = rig.start({ steps: [ended ? 'echo begun; sleep 60' : 'echo hello; echo there >&2'] });
  if (ended) {
    await delay(Math.random() * 100);
    await run.terminate();
  }
  await run.ended;
}

test('guards keep their descriptors while steps and threads come and go', async () => {
  const names = Array.from({ length: GUARDS }, (_, i) => `kept-${i}`);
  const held = names.map((name) => rig.guards.try(name, 'exclusive'));
  let next = 0;
  const slot = async (): Promise<void> => {
    while (next < RUNS) await one(next++);
  };
  await Promise.all([slot(), slot(), slot(), slot()]);
  expect(names.filter((name) => rig.guards.try(name, 'exclusive') !== null)).toEqual([]);
  for (const guard of held) guard?.release();
});
