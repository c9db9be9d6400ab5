import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { remedyOf } from '../../src/shared/errors.ts';
import { Rig } from '../support/e2e-rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

/** Puts a step of a kind that no runner knows into the stored spec of a queued run. */
function spoilSpec(run: number): void {
  const file = readdirSync(rig.dataDir).find((name) => /\.(db|sqlite)$/.test(name));
  const database = new Database(path.join(rig.dataDir, file ?? 'missing'));
  try {
    const row = database.prepare('select spec from runs where id = ?').get(run) as { spec: string };
    const spec = JSON.parse(row.spec) as { steps: { kind: string }[] };
    if (spec.steps[0]) spec.steps[0].kind = 'dance';
    database.prepare('update runs set spec = ? where id = ?').run(JSON.stringify(spec), run);
  } finally {
    database.close();
  }
}

describe('a job that a runner cannot understand', () => {
  it('stops every slot, ends as refused, gives the rest back, and is never seen by a second runner', async () => {
    const gate = path.join(rig.root, 'go');
    const wait = { steps: [`echo begun; until [ -e ${gate} ]; do sleep 0.02; done`] };
    await rig.repository('o/r', { a: wait, b: wait, bad: wait });
    const [a = 0, b = 0, bad = 0] = await rig.submit('o/r');
    spoilSpec(bad);
    const runner = rig.runner(['--jobs', '3', '--kill-grace', '0']);
    expect((await runner.ended).code).toBe(78);
    const lines = runner.stderr.split('\n').filter((line) => line.startsWith('vole: '));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`run ${bad}.*steps\\.0\\.kind`));
    expect(await rig.run(bad)).toMatchObject({ state: 'refused', reason: 'bad-job' });
    writeFileSync(gate, '');
    rig.runner(['--jobs', '3']);
    for (const id of [a, b]) expect(await rig.ended(id)).toMatchObject({ state: 'passed', lostCount: 0 });
    expect((await rig.run(bad)).attempt).toBe(1);
  });
});

describe('a runner that should never start', () => {
  it('is refused where its filter matches no repository, in one line that says which', async () => {
    await rig.repository('o/r', { a: { steps: ['true'] } });
    const runner = rig.runner(['--jobs', '2', '--repos', 'no/*']);
    expect((await runner.ended).code).toBe(78);
    expect(runner.stderr.split('\n').filter((line) => line.startsWith('vole: '))).toEqual([
      expect.stringContaining('no/*'),
    ]);
  });

  it('is told how many files it may open, and how many its slots need', async () => {
    const limited = ['sh', '-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath];
    const runner = rig.runner(['--jobs', '16'], {}, [...limited, path.resolve('bin/vole.cjs')]);
    expect((await runner.ended).code).toBe(78);
    expect(runner.stderr).toMatch(
      /^vole: this process may open 256 files, and --jobs 16 needs 320: raise .* to 1024/m,
    );
  });

  it('is told that the host key is another one, with both fingerprints and what to compare', async () => {
    const other = `SHA256:${'A'.repeat(43)}`;
    const runner = rig.runner(['--host-key', other]);
    expect((await runner.ended).code).toBe(76);
    expect(runner.stderr).toContain(other);
    expect(runner.stderr).toContain(rig.facts.fingerprint);
    expect(runner.stderr).toContain(remedyOf('host-key-refused'));
  });

  it('is told that the server does not know its key, which that is, and the command that adds it', async () => {
    const stranger = path.join(rig.root, 'stranger');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', stranger]);
    const runner = rig.runner(['--key', stranger]);
    expect((await runner.ended).code).toBe(77);
    const shown = execFileSync('ssh-keygen', ['-lf', `${stranger}.pub`], { encoding: 'utf8' }).split(' ')[1];
    expect(shown).toMatch(/^SHA256:/);
    expect(runner.stderr).toContain(`this key, ${shown}, for account tester`);
    expect(runner.stderr).toContain('`vole key add tester FILE.pub`');
  });

  it('is told that what answers is no SSH server, and maybe the pages', async () => {
    const http = rig.facts.http.replace('http://', '');
    const runner = rig.runner(['--server', `ssh://tester@${http}`]);
    expect((await runner.ended).code).toBe(69);
    expect(runner.stderr).toMatch(/vole: .*no SSH server, and may be the --http address/);
    expect(runner.stderr).toContain(remedyOf('server-unreachable'));
  });

  it.each([
    { args: ['--jobs', '0'], names: /--jobs: '0'/ },
    { args: ['--jobs', 'x'], names: /--jobs: 'x'/ },
    { args: ['--cache-size', '10Q'], names: /--cache-size: '10Q'/ },
    { args: ['--bogus'], names: /--bogus/ },
    { args: ['--server', 'http://x'], names: /http:\/\/x/ },
  ])('says what is wrong with $args in one line and exits 2', async ({ args, names }) => {
    const runner = rig.runner(args);
    expect((await runner.ended).code).toBe(2);
    const lines = runner.stderr.trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(names);
  });

  it('names a key file that holds no key', async () => {
    const file = path.join(rig.root, 'nokey');
    writeFileSync(file, 'this is no key\n');
    const runner = rig.runner(['--key', file]);
    expect((await runner.ended).code).toBe(2);
    expect(runner.stderr.trim().split('\n')).toEqual([expect.stringContaining(file)]);
  });
});
