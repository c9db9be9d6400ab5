import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { WorkerRig } from '../support/worker-rig.ts';

const rig = new WorkerRig();
afterAll(() => rig.close());

let victim: string;
beforeEach(() => {
  victim = rig.cleanup.tempDir();
  mkdirSync(path.join(victim, 'src'));
  writeFileSync(path.join(victim, 'keep'), 'x');
  writeFileSync(path.join(victim, 'src', 'keep'), 'x');
});

const tree = '$(dirname "$VOLE_WORKSPACE")';

test.each([
  ['workspace', 'cd /; rm -rf "$VOLE_WORKSPACE"; ln -s "$VICTIM" "$VOLE_WORKSPACE"'],
  ['tree', `t="${tree}"; cd /; mv "$t" "$t-away"; mkdir "$t-new"; ln -s "$VICTIM" "$t"`],
])('no step runs in and nothing is packed from what a step put in place of its %s', async (_, script) => {
  const run = rig.start({
    env: { VICTIM: victim },
    steps: [script, { run: 'echo ran > here', if: 'always' }],
    artifacts: [{ name: 'x', paths: ['**'] }],
  });
  const { outcome } = await run.ended;
  expect(outcome.steps.map(({ result }) => result)).toEqual(['passed', 'failed']);
  expect(outcome).toMatchObject({ result: 'failed', reason: 'spawn' });
  expect(outcome.detail).toMatch(/workspace/);
  expect(run.artifacts).toEqual([]);
  expect(readdirSync(victim)).toEqual(['keep', 'src']);
  expect(readdirSync(path.join(victim, 'src'))).toEqual(['keep']);
});

test('an artifact of a workspace that was replaced fails by name', async () => {
  const run = await rig.run({
    env: { VICTIM: victim },
    steps: ['cd /; rm -rf "$VOLE_WORKSPACE"; ln -s "$VICTIM" "$VOLE_WORKSPACE"'],
    artifacts: [{ name: 'x', paths: ['**'] }],
  });
  expect(run.outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
  expect(run.outcome.detail).toMatch(/artifact x: .*workspace/);
  expect(run.artifacts).toEqual([]);
});

test.each([
  ['a link in place of its artifacts', `ln -s "$VICTIM" "${tree}/artifacts"`],
  ['a file there', `echo > "${tree}/artifacts"`],
  [
    'a folder there with a link in it',
    `mkdir "${tree}/artifacts"; ln -s "$VICTIM/keep" "${tree}/artifacts/x.tar.gz"`,
  ],
  ['a link in place of its next script', `ln -s "$VICTIM/keep" "${tree}/step-2.sh"`],
  ['a folder in place of its next script', `mkdir -p "${tree}/step-2.sh/a"`],
])('a step that leaves %s has nothing written elsewhere', async (_, script) => {
  const run = await rig.run({
    env: { VICTIM: victim },
    steps: [`${script}; echo a > a`, 'echo b > b'],
    artifacts: [{ name: 'x', paths: ['*'] }],
  });
  expect(run.outcome.result).toBe('passed');
  const listed = execFileSync('tar', ['-tzf', run.artifacts[0]?.path ?? ''], { encoding: 'utf8' });
  expect(listed).toBe('a\nb\n');
  expect(readdirSync(victim)).toEqual(['keep', 'src']);
  expect(execFileSync('cat', [path.join(victim, 'keep')], { encoding: 'utf8' })).toBe('x');
});
