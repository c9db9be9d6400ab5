import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SpoolReader } from '../../src/runner/runs/spool-reader.ts';
import { RunnerRig } from '../support/runner-rig.ts';

let rig: RunnerRig;
beforeEach(() => {
  rig = new RunnerRig();
});
afterEach(() => rig.close());

const tree = '$(dirname "$VOLE_WORKSPACE")';

test.each([
  ['removes its job tree', `rm -rf "${tree}"`],
  ['renames its job tree', `mv "${tree}" "${tree}-away"`],
  ['removes the spool', `rm "${tree}/log"`],
  ['puts a FIFO in its place', `rm "${tree}/log"; mkfifo "${tree}/log"`],
  ['puts a link to another file in its place', `ln -sf /etc/hostname "${tree}/log"`],
])('a step that %s costs its run not a line, and the runner goes on', async (_, script) => {
  await rig.start({ worker: 'worker.js' });
  const id = await rig.queue(`cd /; ${script}; echo said after it`);
  expect(await rig.runEnded(id)).toMatchObject({ state: 'passed', attempt: 1 });
  expect(rig.output(id)).toContain('said after it');
  expect(await rig.runEnded(await rig.queue('true'))).toMatchObject({ state: 'passed', attempt: 1 });
});

test('a step that shortens the spool has its log cut, and the runner goes on', async () => {
  await rig.start({ worker: 'worker.js' });
  const id = await rig.queue(`seq 1000; sleep 0.5; : > "${tree}/log"; echo said after it`);
  expect(await rig.runEnded(id)).toMatchObject({ state: 'passed', attempt: 1 });
  expect(await rig.runEnded(await rig.queue('true'))).toMatchObject({ state: 'passed', attempt: 1 });
});

test('a spool is never made over what is there, nor through a link', () => {
  const [file, link] = [path.join(rig.dir, 'log'), path.join(rig.dir, 'link')];
  writeFileSync(file, 'of another attempt');
  symlinkSync(path.join(rig.dir, 'elsewhere'), link);
  for (const place of [file, link]) expect(() => SpoolReader.make(place)).toThrow(/EEXIST|ELOOP/);
  expect(readFileSync(file, 'utf8')).toBe('of another attempt');
});
