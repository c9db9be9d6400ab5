import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { WorkerRig } from '../support/worker-rig.ts';

const rig = new WorkerRig();
afterAll(() => rig.close());

test.each(['sh', 'bash'] as const)('values arrive byte for byte in %s', async (shell) => {
  const env = {
    LINES: 'one\ntwo\r\n\n three ',
    QUOTES: `'"\`\\ \\n '"'"'`,
    EXPANSION: '$(touch /tmp/never) $HOME ${PATH} `id` !! * ~ %s %n',
    EMOJI: '😀 é ü #%2F \u0001\u007f',
    LARGE: 'é'.repeat(50 * 1024),
    EMPTY: '',
  };
  const names = Object.keys(env);
  const print = names.map((name) => `printf %s "$${name}" > $VOLE_WORKSPACE/${name}`).join('\n');
  const run = await rig.run({ env, steps: [{ run: print, shell }] });
  expect(run.outcome.result).toBe('passed');
  for (const [name, value] of Object.entries(env)) {
    expect(readFileSync(path.join(run.paths.src, name)).equals(Buffer.from(value)), name).toBe(true);
  }
});

test("nothing of the runner's own environment leaks, and no descriptor of it", async () => {
  process.env['LEAKED_FROM_THE_RUNNER'] = 'yes';
  rig.cleanup.defer(() => {
    delete process.env['LEAKED_FROM_THE_RUNNER'];
  });
  const run = await rig.run({
    env: { MINE: '1' },
    steps: ['env | cut -d= -f1 | sort; ls /proc/self/fd | tr "\\n" " " >&2'],
  });
  const own = 'CI HOME MINE PATH PWD TMPDIR';
  const facts = 'ATTEMPT CACHE EVENT JOB JOB_MARKER PIPELINE REPOSITORY RUN TRUST WORKSPACE';
  expect(run.lines('o')).toEqual([...own.split(' '), ...facts.split(' ').map((fact) => `VOLE_${fact}`)]);
  // What was open, and inheritable, before Node started is no doing of ours.
  const inherited = execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  expect(run.lines('e')[0]?.trim().split(' ').toSorted()).toEqual(inherited.toSorted());
});

test('a value of 200 KiB and one with a NUL are named, and the job says which', async () => {
  const large = await rig.run({ env: { HUGE: 'x'.repeat(200 * 1024) }, steps: ['true'] });
  expect(large.outcome).toMatchObject({ result: 'failed', reason: 'spawn' });
  expect(large.outcome.detail).toMatch(/variable HUGE has 2048\d\d bytes; the kernel takes 131072/);
  const nul = await rig.run({ env: { NULL: 'a\0b' }, steps: ['true'] });
  expect(nul.outcome).toMatchObject({ result: 'failed', reason: 'spawn' });
  expect(nul.outcome.detail).toMatch(/variable NULL has a NUL byte/);
});

test('many values that are together too large are an outcome too', async () => {
  const env = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`V${i}`, 'x'.repeat(100_000)]));
  const run = await rig.run({ env, steps: ['true'] });
  expect(run.outcome).toMatchObject({ result: 'failed', reason: 'spawn' });
  expect(run.outcome.detail).toMatch(/environment is too large/);
});

test('a working directory that is not there, leaves the workspace, or does so by a link', async () => {
  const refused = async (workingDirectory: string): Promise<string> => {
    const run = await rig.run({ steps: [`ln -s / out; mkdir -p in`, { run: 'pwd', workingDirectory }] });
    return `${run.outcome.result}: ${run.outcome.detail}${run.outcome.result === 'passed' ? run.lines('o', 2).join() : ''}`;
  };
  expect(await refused('nope')).toMatch(/working-directory nope is not there/);
  expect(await refused('../..')).toMatch(/leaves the workspace/);
  expect(await refused('out/etc')).toMatch(/through a link/);
  expect(await refused('in')).toMatch(/^passed: .*\/src\/in$/);
});

test('a step that cannot start leaks no descriptor and holds nothing back', async () => {
  const open = (): number => readdirSync('/proc/self/fd').length;
  await rig.run({ env: { N: 'a\0' }, steps: ['true'] });
  const before = open();
  for (let i = 0; i < 5; i++) {
    const steps = Array.from({ length: 10 }, () => ({ run: 'true', continueOnError: true }));
    await rig.run({ env: { N: 'a\0' }, steps });
  }
  expect(open()).toBeLessThanOrEqual(before + 2);
});

test('what a step reads is empty, and bash stops at a failed pipe', async () => {
  const run = await rig.run({ steps: ['cat; echo end', { run: 'false | true; echo never', shell: 'bash' }] });
  expect(run.lines('o', 1)).toEqual(['end']);
  expect(run.outcome).toMatchObject({ result: 'failed', reason: 'exit' });
  expect(run.lines('o', 2)).toEqual([]);
});
