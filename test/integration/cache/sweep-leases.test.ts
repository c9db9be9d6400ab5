import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LeaseKeys } from '../../../src/runner/dir/lease-keys.ts';
import { ProcessSeats } from '../../../src/runner/dir/process-seats.ts';
import { type Swept, sweep } from '../../../src/runner/sweep/sweep.ts';
import { type CacheRig, cacheRig } from '../../support/cache-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await cacheRig(
    path.join(cleanup.tempDir(), 'dir'),
    path.resolve(import.meta.dirname, '../../../dist'),
  );
  cleanup.defer(async () => {
    await rig.trash.settled();
    await rig.files.close();
  });
});
afterEach(() => cleanup.run());

const key = (digit: string): string => digit.repeat(24);
const folders = (): string[] => readdirSync(rig.dir.layout.fifos);
const keysOf = ({ leases }: Swept): string[] => leases.flatMap(({ keys }) => keys).toSorted();

/** What a process of that name leaves that is killed with two slots. */
function killed(name: string): void {
  const own = path.join(rig.dir.layout.fifos, name);
  const keys = new LeaseKeys(own, { server: 's', account: 'a' });
  keys.note(0, key('a'));
  keys.note(1, key('b'));
  for (const slot of [0, 1]) keys.leave(slot);
  keys.close();
  mkdirSync(path.join(own, 'tree-0', 'src'), { recursive: true });
  for (const file of ['0', 'spawner', 'lease-2']) writeFileSync(path.join(own, file), '');
}

/** A sweep by a process of that name, which lives until `die`. */
async function sweepAs(name: string): Promise<{ swept: Swept; die: () => void }> {
  const seat = new ProcessSeats(rig.dir).take(name);
  cleanup.defer(() => seat.release());
  return { swept: await sweep(rig.dir, rig.trash, name), die: () => seat.release() };
}

test('the keys of a killed process are found by each start until one has had them answered; the rest goes', async () => {
  killed('1-a');
  const first = await sweepAs('2-b');
  expect(keysOf(first.swept)).toEqual([key('a'), key('b')]);
  const [folder = ''] = folders();
  expect(readdirSync(path.join(rig.dir.layout.fifos, folder)).toSorted()).toEqual([
    'lease-0',
    'lease-1',
    'leased-from.json',
  ]);
  first.die();
  const second = await sweepAs('3-c');
  expect(keysOf(second.swept)).toEqual([key('a'), key('b')]);
  for (const leases of second.swept.leases) leases.dispose();
  expect(folders()).toEqual([]);
  second.die();
  expect((await sweepAs('4-d')).swept.leases).toEqual([]);
});

test('two that start at once do not both have them: only who has the trees knows what had begun', async () => {
  killed('1-a');
  const first = await sweepAs('2-b');
  const second = await sweepAs('3-c');
  expect([keysOf(first.swept).length, keysOf(second.swept).length]).toEqual([2, 0]);
  for (const leases of first.swept.leases) leases.dispose();
  expect(folders()).toEqual([]);
});

test('the folders of living processes, and of dead ones without keys, are as before', async () => {
  killed('1-a');
  mkdirSync(path.join(rig.dir.layout.fifos, '5-e'));
  writeFileSync(path.join(rig.dir.layout.fifos, 'file'), '');
  const living = new ProcessSeats(rig.dir).take('1-a');
  expect((await sweepAs('2-b')).swept.leases).toEqual([]);
  expect(folders()).toEqual(['1-a']);
  living.release();
});
