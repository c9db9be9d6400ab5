import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TrimTicker } from '../../../src/runner/cache/trim-ticker.ts';
import { CacheRig } from '../../support/runner-dir-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

const HOUR_MS = 3_600_000;
const NEVER = new AbortController().signal;
/** More than there is on any disk that is used at all, so that there is always too little. */
const ALL = { minFree: { share: 1 } } as const;

let cleanup: Cleanup;
let rig: CacheRig;
const said: string[] = [];
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await CacheRig.open(path.join(cleanup.tempDir(), 'dir'), cleanup);
  said.length = 0;
});
afterEach(() => cleanup.run());

function tickerOf(trimmer: ConstructorParameters<typeof TrimTicker>[0], intervalMs: number): TrimTicker {
  const say = (_facts: object, line: string): void => void said.push(line);
  const ticker = new TrimTicker(trimmer, intervalMs, { debug: say, info: say, warn: say });
  cleanup.defer(() => ticker.stop());
  ticker.start();
  return ticker;
}

it('trims at its interval', async () => {
  const name = await rig.fill('team/app');
  tickerOf(rig.trimmer(), 50);
  await until('its eviction', () => !rig.namespaces.records.names().includes(name));
});

it('trims at once where too little is free, and leases nothing until there is room or it is told to leave', async () => {
  const name = await rig.fill('team/app');
  const ticker = tickerOf(rig.trimmer(ALL), HOUR_MS);
  await until('its eviction', () => !rig.namespaces.records.names().includes(name));
  expect(said).toEqual(['less than --min-free is free: trimming, and leasing pauses']);
  const leaving = new AbortController();
  let room = false;
  const waiting = ticker.room(leaving.signal).then(() => (room = true));
  await delay(50);
  expect(room).toBe(false);
  leaving.abort();
  await waiting;
  ticker.stop();
  await ticker.room(NEVER);
});

it('does not measure what is in use again and again while trimming gives nothing', async () => {
  const held = await rig.hold();
  writeFileSync(path.join(held.path, 'file'), Buffer.alloc(10_000, 1));
  const trimmer = rig.trimmer(ALL);
  const trims = vi.spyOn(trimmer, 'trim');
  const ticker = tickerOf(trimmer, HOUR_MS);
  await delay(2_500); // it looks at the disk every second
  expect(trims.mock.calls.length).toBe(1);
  ticker.look(); // as when a job has just found it full
  await until('another trim', () => trims.mock.calls.length === 2);
  held.release({ remove: false });
});
