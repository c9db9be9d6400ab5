import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { WorkerRig } from '../support/worker-rig.ts';

const rig = new WorkerRig();
afterAll(() => rig.close());

function listed(archive: string): string[] {
  return execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

test('files are packed with their modes, links that stay inside as links, and the digest is right', async () => {
  const run = await rig.run({
    steps: [
      'mkdir -p dist/deep; echo a > dist/a; echo b > dist/deep/b; chmod 755 dist/a; : > dist/empty',
      'ln -s a dist/inside; ln -s /etc/passwd dist/outside; mkfifo dist/pipe; echo n > not',
    ],
    artifacts: [{ name: 'dist', paths: ['dist/**'] }],
  });
  expect(run.outcome.result).toBe('passed');
  const [artifact] = run.artifacts;
  const file = artifact?.path ?? '';
  expect(listed(file)).toEqual(['dist/a', 'dist/deep/b', 'dist/empty', 'dist/inside']);
  expect(execFileSync('tar', ['-tvzf', file], { encoding: 'utf8' })).toMatch(/-rwxr-xr-x .* dist\/a\n/);
  const bytes = readFileSync(file);
  expect(artifact).toMatchObject({
    name: 'dist',
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  const said = run.lines('v', 0).join('\n');
  expect(said).toMatch(/dist\/outside is a link out of the workspace/);
  expect(said).toMatch(/dist\/pipe is no file/);
});

test('artifacts of a job whose step failed are collected, and the step stays the reason', async () => {
  const run = await rig.run({
    steps: ['echo report > report.txt; exit 4'],
    artifacts: [{ name: 'report', paths: ['report.txt'] }],
  });
  expect(run.outcome).toMatchObject({ result: 'failed', reason: 'exit' });
  expect(listed(run.artifacts[0]?.path ?? '')).toEqual(['report.txt']);
});

test('an artifact over the limit fails a job that passed, and only adds to one that failed', async () => {
  const spec = (end: string) => ({
    steps: [`head -c 300000 /dev/urandom > big; ${end}`],
    artifacts: [{ name: 'big', paths: ['big'] }],
  });
  const passed = await rig.run(spec('true'), { artifactLimitBytes: 100_000 });
  expect(passed.outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
  expect(passed.outcome.detail).toMatch(/artifact big: over the limit of 100000 bytes \(--artifact-limit\)/);
  const failed = await rig.run(spec('exit 4'), { artifactLimitBytes: 100_000 });
  expect(failed.outcome).toMatchObject({ result: 'failed', reason: 'exit' });
  expect(failed.lines('v', 0).join('\n')).toMatch(/artifact big: over the limit/);
  expect(failed.artifacts).toEqual([]);
});

test('a pattern that matches nothing is said and fails nothing; one that leaves the workspace does', async () => {
  const none = await rig.run({ steps: ['true'], artifacts: [{ name: 'x', paths: ['no/*'] }] });
  expect(none.outcome.result).toBe('passed');
  expect(none.lines('v', 0).join('\n')).toMatch(/artifact x: nothing matches no\/\*/);
  const out = await rig.run({ steps: ['true'], artifacts: [{ name: 'x', paths: ['../**'] }] });
  expect(out.outcome).toMatchObject({ result: 'failed', reason: 'artifact' });
});

test('a cancel while an artifact is packed ends it', async () => {
  const run = rig.start({
    steps: ['head -c 400000000 /dev/urandom > big; echo packing'],
    artifacts: [{ name: 'big', paths: ['big'] }],
  });
  await run.logged('packing');
  run.cancel();
  const { outcome, ms } = await run.ended;
  expect(outcome.result).toBe('cancelled');
  expect(ms).toBeLessThan(15_000);
});

test('files and folders whose names are not UTF-8 are packed under names that are', async () => {
  const run = await rig.run({
    steps: [
      String.raw`d=$(printf 'dir\377'); mkdir "$d"; echo in > "$d/a"; echo out > "$(printf 'b\376')"; ln -s a "$d/l"`,
      String.raw`echo c > "$(printf 'c\376')"; echo c > "$(printf 'c\377')"`,
    ],
    artifacts: [{ name: 'x', paths: ['**'] }],
  });
  expect(run.outcome).toMatchObject({ result: 'passed' });
  const file = run.artifacts[0]?.path ?? '';
  const names = ['b\uFFFD', 'c\uFFFD', 'dir\uFFFD/a', 'dir\uFFFD/l'];
  const options = { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } } as const;
  const raw = execFileSync('tar', ['--quoting-style=literal', '-tzf', file], options)
    .split('\n')
    .filter(Boolean);
  expect(raw).toEqual(names);
  expect(execFileSync('tar', ['-xzOf', file], options)).toBe('out\nc\nin\n');
  expect(run.lines('v', 0).join('\n')).toContain('one of several c\uFFFD is left out: its name is not UTF-8');
});
