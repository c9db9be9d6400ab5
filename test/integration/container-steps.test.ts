import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ContainerRig } from '../support/container-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { GitRepository } from '../support/git-repository.ts';

const engine = useEngine();
const rig = new ContainerRig(engine, { threads: 2 });
afterAll(() => rig.close());

test('steps run one after the other in one container, and it is gone at the end', async () => {
  const run = await rig.run({
    steps: ['echo hello; echo there >&2; touch /here; pwd', 'ls /here $VOLE_CACHE; echo $$ >&2'],
  });
  expect(run.outcome).toMatchObject({ result: 'passed' });
  expect(run.lines('o', 1)).toEqual(['hello', '/workspace']);
  expect(run.lines('e', 1)).toEqual(['there']);
  expect(run.lines('o', 2)[0]).toBe('/here');
  expect(run.announcedObjects).toEqual([run.container]);
  expect(await rig.left()).toEqual([]);
});

describe('the environment', () => {
  test.each(['sh', 'bash'] as const)('arrives byte for byte in %s', async (shell) => {
    const env = {
      LINES: 'one\ntwo\r\n\n three \n\n',
      QUOTES: `'"\`\\ \\n '"'"'`,
      EXPANSION: '$(touch /workspace/never) $HOME ${PATH} `id` !! * ~ %s %n',
      EMOJI: '😀 é ü #%2F \u0001\u007f',
      LARGE: 'é'.repeat(35_000),
      EMPTY: '',
      IFS: ':',
      UID_: 'x',
    };
    const names = Object.keys(env);
    const print = names.map((name) => `printf %s "$${name}" > $VOLE_WORKSPACE/${name}`).join('\n');
    const image = engine().toolsImage;
    const run = await rig.run({ env, steps: [{ run: `${print}\ncat; ls`, shell }] }, { image });
    expect(run.outcome.result).toBe('passed');
    for (const [name, value] of Object.entries(env)) {
      // A shell takes IFS from nobody.
      if (name === 'IFS') continue;
      expect(readFileSync(path.join(run.paths.src, name)).equals(Buffer.from(value)), name).toBe(true);
    }
    expect(run.lines('o')).not.toContain('never');
  });

  test("has nothing of the runner's, and PATH and HOME of the image", async () => {
    process.env['LEAKED_FROM_THE_RUNNER'] = 'yes';
    const baseEnv = { PATH: '/runner/bin', GIVEN: '1' };
    const run = await rig
      .run(
        { env: { MINE: '1' }, steps: ['env | cut -d= -f1 | sort; echo $PATH $HOME >&2'] },
        { task: { baseEnv } },
      )
      .finally(() => delete process.env['LEAKED_FROM_THE_RUNNER']);
    const git = ['GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_VALUE_0'];
    const shell = ['HOME', 'HOSTNAME', 'MINE', 'OLDPWD', 'PATH', 'PWD', 'SHLVL', 'TMPDIR'];
    const facts = 'ATTEMPT CACHE EVENT JOB JOB_MARKER PIPELINE REPOSITORY RUN TRUST WORKSPACE';
    const own = facts.split(' ').map((fact) => `VOLE_${fact}`);
    expect(run.lines('o')).toEqual(['CI', ...git, 'GIVEN', ...shell, ...own].sort());
    expect(run.lines('e')[0]).toMatch(/^\/usr\/local\/sbin.* \/tmp$/);
  });

  test('of names that bash holds as read-only ends no step', async () => {
    const run = await rig.run(
      { env: { UID: '7', PPID: '8' }, steps: ['echo $UID', { run: 'echo on', shell: 'bash' }] },
      { image: engine().toolsImage },
    );
    expect(run.outcome.result).toBe('passed');
    expect(run.lines('o', 1)).toEqual(['7']);
  });

  test('too large for the kernel is an outcome', async () => {
    const large = await rig.run({ env: { HUGE: 'x'.repeat(200 * 1024) }, steps: ['true'] });
    expect(large.outcome.detail).toMatch(/variable HUGE has 2048\d\d bytes/);
    const env = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`V${i}`, 'x'.repeat(100_000)]));
    const many = await rig.run({ env, steps: ['true'] });
    expect(many.outcome).toMatchObject({ result: 'failed', reason: 'spawn' });
    expect(many.outcome.detail).toMatch(/environment is too large/);
  });
});

describe('how a step ends', () => {
  test('exit codes are what they were, those of the engine itself too', async () => {
    const codes = [0, 1, 125, 126, 127, 130, 255];
    const steps = codes.map((code) => ({ run: `exit ${code}`, continueOnError: true }));
    const { outcome } = await rig.run({ steps });
    expect(outcome.steps.map(({ exitCode }) => exitCode)).toEqual(codes);
    expect(outcome.steps.map(({ reason }) => reason)).toEqual([null, ...codes.slice(1).map(() => 'exit')]);
  });

  test('a command that is not there, a shell that the image has not, a folder that is not there', async () => {
    const of = async (step: { run: string; shell?: 'bash'; workingDirectory?: string }): Promise<string> => {
      const { outcome } = await rig.run({ steps: [step] });
      return `${outcome.reason}: ${outcome.detail}`;
    };
    expect(await of({ run: 'nonesuch' })).toMatch(/command-not-found: .*nonesuch/);
    expect(await of({ run: 'true', shell: 'bash' })).toMatch(/command-not-found: .*bash/);
    expect(await of({ run: 'true', workingDirectory: 'nope' })).toMatch(
      /spawn: .*working-directory nope is not there/,
    );
    expect(await of({ run: 'true', workingDirectory: '../..' })).toMatch(/leaves the workspace/);
  });

  test('output on /dev/stderr, a line of 70,000 bytes, and a last one without a newline', async () => {
    const line = 'printf "%070000d\\n" 1 | tr 0 x; echo e >/dev/stderr; echo o >/dev/stdout; printf last';
    const run = await rig.run({ steps: [line] });
    expect(run.outcome.result).toBe('passed');
    expect(run.lines('o')[0]).toHaveLength(70_000);
    expect(run.lines('o').slice(1)).toEqual(['o', 'last']);
    expect(run.lines('e')).toEqual(['e']);
  });

  test('what it left running does not hold it, and is gone before the next step', async () => {
    const daemon = '(setsid env -i sleep 777 &) ; sleep 778 & echo up';
    const run = await rig.run({ steps: [daemon, 'ps -o args | grep -c "sleep 77[78]" || true'] });
    expect(run.outcome.result).toBe('passed');
    expect(run.lines('o', 2)).toEqual(['0']);
    expect(run.outcome.steps[0]?.durationMs).toBeLessThan(10_000);
  });
});

test('the source is there with what git borrows from the saved checkout, which no job can write', async () => {
  const repository = new GitRepository(path.join(rig.rig.dir, 'origin'));
  const sha = repository.commit({ 'a/file.txt': 'content\n' });
  const run = await rig.run(
    {
      source: { url: repository.url, sha },
      steps: [
        'cat a/file.txt; git log --format=%H -1; git status --short',
        'touch $(cat .git/objects/info/alternates)/x',
      ],
    },
    { image: engine().toolsImage },
  );
  expect(run.lines('o', 1)).toEqual(['content', sha]);
  expect(run.outcome.steps[1]).toMatchObject({ result: 'failed' });
  expect(run.lines('e', 2)[0]).toMatch(/Read-only file system/);
});
