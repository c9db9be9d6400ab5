import { readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RunnerRig } from '../support/runner-rig.ts';
import { until } from '../support/until.ts';

let rig: RunnerRig;
beforeEach(() => {
  rig = new RunnerRig();
});
afterEach(() => rig.close());

const inDir = (name: string): string => path.join(rig.dir, 'dir', name);

/** Files below it that this process has open. */
function open(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`);
      return file.startsWith(`${folder}/`) ? [file] : [];
    } catch {
      return []; // the one that lists them
    }
  });
}

// The second is that of `vole run`.
it.each([
  { keepUnreported: true, server: 'that stays', left: 'its tree', trees: 1 },
  { keepUnreported: false, server: 'that ends with it', left: 'nothing', trees: 0 },
])(
  'a run that is ended without a report leaves, with a server $server, $left',
  async ({ keepUnreported, trees }) => {
    await rig.start({ worker: 'worker.js', keepUnreported });
    const id = await rig.queue('echo begun; exec sleep 999');
    await until('it has begun', () => rig.said.some((line) => line.startsWith('run started')));
    await until('its log', () => rig.output(id).includes('begun'));
    rig.runner.kill();
    expect((await rig.ended).error).toContain(`not reported: run ${id} (`);
    const names = readdirSync(inDir('jobs'));
    expect(names.map((name) => name.split('.', 1)[0])).toEqual(Array(trees).fill(`${id}-1`));
    for (const name of names) {
      expect(readdirSync(path.join(inDir('jobs'), name))).toEqual(
        expect.arrayContaining(['log', 'owner.jsonl']),
      );
    }
    expect([open(inDir('jobs')), open(inDir('fifos')), readdirSync(inDir('trash'))]).toEqual([[], [], []]);
  },
);
