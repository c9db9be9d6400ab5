import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiPipeline } from '../../src/shared/api.ts';
import { RunRig } from '../support/run-rig.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let rig: RunRig;

beforeEach(() => {
  cleanup = new Cleanup();
  rig = new RunRig(cleanup);
});
afterEach(() => cleanup.run());

const inFolder = (name: string) => path.join(rig.folder, name);

/** Every file of the checkout and of its `.git`, byte for byte. */
function everything(): Map<string, string> {
  const entries = readdirSync(rig.folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.join(parentPath, name));
  return new Map(files.map((file) => [file, readFileSync(file, 'base64')]));
}

/** What the job `a` printed, without what vole says before its step does. */
function printed(out: string): string[] {
  const lines = out.split('\n').flatMap((line) => /^a \| (.*)$/.exec(line)?.[1] ?? []);
  return lines.slice(lines.findIndex((line) => line.startsWith('step 1')) + 1);
}

/** Runs a step that says of each file its mode and content, within the files as they are. */
async function dirty(within = '.', step = "find * ! -name '.git' | sort | xargs -r stat -c '%n %A %s'") {
  rig.workflow({ a: step });
  const { code, out, err } = await rig.run(['--dirty'], {}, within);
  expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/^vole: running/m) });
  return printed(out);
}

describe('vole run --dirty', () => {
  it('runs what is changed, staged, new and removed, and leaves index, refs and files as they are', async () => {
    for (const name of ['edited', 'staged', 'removed', 'mode', 'same']) rig.write(name, '1');
    rig.write('.gitignore', 'ignored\n');
    symlinkSync('same', inFolder('link'));
    rig.commit();
    rig.write('edited', '12');
    rig.write('staged', '123');
    rig.git('add', 'staged');
    rig.write('staged', '1234');
    rig.write('new', '12345');
    rig.write('ignored', '');
    rmSync(inFolder('removed'));
    chmodSync(inFolder('mode'), 0o755);
    rmSync(inFolder('link'));
    symlinkSync('edited', inFolder('link'));
    rig.workflow({ a: "stat -c '%N %A %s' *; git log --format=%s" });
    const head = rig.git('rev-parse', 'HEAD').slice(0, 12);
    const before = everything();
    const { code, out, err } = await rig.run(['--dirty']);
    expect(out).not.toContain(rig.root);
    expect({ code, err }).toEqual({
      code: 0,
      err: `vole: running ${head} with changes: the files as they are\n`,
    });
    expect(printed(out)).toEqual([
      "'edited' -rw-r--r-- 2",
      "'link' -> 'edited' lrwxrwxrwx 6",
      "'mode' -rwxr-xr-x 1",
      "'new' -rw-r--r-- 5",
      "'same' -rw-r--r-- 1",
      "'staged' -rw-r--r-- 4",
      `${head} with changes`,
      'change',
    ]);
    expect(everything()).toEqual(before);
    rig.expectNothingLeft();
    expect(readdirSync(path.join(rig.root, 'dir', 'git'))).toEqual([]);
  });

  it('sees a change of one letter that came in the moment in which the index was written', async () => {
    const moment = Math.floor(Date.now() / 1000) - 3600;
    const inThatMoment = (name: string) => utimesSync(inFolder(name), moment, moment);
    rig.write('f', 'a');
    inThatMoment('f');
    rig.commit();
    rig.git('config', 'core.trustCtime', 'false');
    inThatMoment('.git/index');
    rig.write('f', 'b');
    inThatMoment('f');
    expect(await dirty('.', 'cat f; echo')).toEqual(['b']);
  });

  it('says so in the title, and that nothing is changed where nothing is', async () => {
    rig.workflow({ a: 'true' });
    rig.commit();
    const head = rig.git('rev-parse', 'HEAD');
    const same = await rig.run(['--dirty', '--json']);
    expect(same.err).toContain(`vole: nothing is changed: running the commit ${head.slice(0, 12)}\n`);
    expect(JSON.parse(same.out) as ApiPipeline).toMatchObject({ sha: head, title: 'change' });
    rig.write('f', '');
    const changed = await rig.run(['--dirty', '--json']);
    expect(JSON.parse(changed.out)).toMatchObject({
      title: `${head.slice(0, 12)} with changes`,
      trust: 'trusted',
    });
  });

  it('runs all of it from a folder within, and of a worktree its own files', async () => {
    mkdirSync(inFolder('a/b'), { recursive: true });
    rig.write('a/b/f', '1');
    rig.commit();
    rig.write('a/b/f', '12');
    rig.write('top', '');
    expect(await dirty('a/b', 'ls; cat a/b/f')).toEqual(['a', 'top', '12']);
    const other = path.join(rig.root, 'other');
    rig.git('worktree', 'add', '-q', '-b', 'other', other);
    writeFileSync(path.join(other, '.vole.yml'), 'jobs: {a: {steps: [{run: "ls; cat a/b/f; echo"}]}}\n');
    writeFileSync(path.join(other, 'only'), '');
    const { out } = await rig.run(['--dirty'], {}, other);
    expect(printed(out)).toEqual(['a', 'only', '1']);
    expect(rig.git('-C', other, 'status', '--porcelain')).toBe('?? .vole.yml\n?? only');
  });

  it('calls no hook, and converts as a commit would', async () => {
    rig.write('.gitattributes', '*.txt text eol=lf\n*.up filter=up\n');
    rig.commit();
    const hooks = path.join(rig.root, 'hooks');
    mkdirSync(hooks);
    for (const name of ['pre-commit', 'post-index-change', 'reference-transaction', 'fsmonitor']) {
      writeFileSync(path.join(hooks, name), `#!/bin/sh\ntouch ${rig.root}/called; exit 1\n`, { mode: 0o755 });
    }
    rig.git('config', 'core.hooksPath', hooks);
    rig.git('config', 'core.fsmonitor', path.join(hooks, 'fsmonitor'));
    rig.git('config', 'core.safecrlf', 'true');
    rig.git('config', 'filter.up.clean', 'tr a-z A-Z');
    rig.write('f.txt', 'one\r\n');
    rig.write('f.up', 'one\n');
    expect(await dirty('.', 'cat -A f.*')).toEqual(['one$', 'ONE$']);
    expect(readdirSync(rig.root)).not.toContain('called');
  });

  it('takes the bits of executable files from the index where git is not to look at them', async () => {
    rig.write('f', '1');
    chmodSync(inFolder('f'), 0o755);
    rig.commit();
    rig.git('config', 'core.fileMode', 'false');
    chmodSync(inFolder('f'), 0o644);
    rig.write('f', '12');
    expect(await dirty()).toEqual(['f -rwxr-xr-x 2']);
  });

  it('has what a sparse checkout leaves out, and what is new there', async () => {
    for (const name of ['in', 'out']) {
      mkdirSync(inFolder(name));
      rig.write(`${name}/f`, '1');
    }
    rig.commit();
    rig.git('sparse-checkout', 'set', 'in');
    rig.write('in/f', '12');
    mkdirSync(inFolder('out'));
    rig.write('out/new', '123');
    expect(await dirty('.', "stat -c '%n %s' */*")).toEqual(['in/f 2', 'out/f 1', 'out/new 3']);
  });

  it('runs in a clone that has no history', async () => {
    rig.write('f', '1');
    rig.commit();
    rig.git('commit', '-q', '--allow-empty', '-m', 'second');
    const clone = path.join(rig.root, 'clone');
    rig.git('clone', '-q', '--depth', '1', `file://${rig.folder}`, clone);
    writeFileSync(path.join(clone, '.vole.yml'), 'jobs: {a: {steps: [{run: "ls"}]}}\n');
    expect(printed((await rig.run(['--dirty'], {}, clone)).out)).toEqual(['f']);
  });

  it('has submodules as they are recorded, and no repository that is none of them', async () => {
    const library = path.join(rig.root, 'library');
    rig.git('init', '-q', '-b', 'main', library);
    rig.git('-C', library, 'commit', '-q', '--allow-empty', '-m', 'recorded');
    rig.write('f', '');
    rig.commit();
    const allow = ['-c', 'protocol.file.allow=always'];
    rig.git(...allow, 'submodule', '--quiet', 'add', library, 'library');
    rig.commit();
    const recorded = rig.git('-C', 'library', 'rev-parse', 'HEAD');
    rig.git('-C', inFolder('library'), 'commit', '-q', '--allow-empty', '-m', 'not pushed');
    rig.git('init', '-q', inFolder('nested'));
    rig.git('-C', inFolder('nested'), 'commit', '-q', '--allow-empty', '-m', 'of its own');
    rig.write(
      '.vole.yml',
      'jobs: {a: {checkout: {submodules: true}, steps: [{run: "ls; git -C library rev-parse HEAD"}]}}\n',
    );
    const { out } = await rig.run(['--dirty']);
    expect(printed(out)).toEqual(['f', 'library', recorded]);
  });
});

describe('vole run --dirty says in one line', () => {
  it('that a merge has left conflicts', async () => {
    for (const name of ['one', 'two']) rig.write(name, 'base\n');
    rig.workflow({ a: 'true' });
    rig.commit();
    rig.git('checkout', '-q', '-b', 'side');
    for (const name of ['one', 'two']) rig.write(name, 'side\n');
    rig.commit();
    rig.git('checkout', '-q', 'main');
    for (const name of ['one', 'two']) rig.write(name, 'main\n');
    rig.commit();
    expect(() => rig.git('merge', '-q', 'side')).toThrow();
    const before = everything();
    const { code, err } = await rig.run(['--dirty']);
    expect(code).toBe(2);
    expect(err).toMatch(
      /^vole: --dirty: .*app has conflicts of a merge in one and 1 more: resolve them and `git add` them\n$/,
    );
    expect(everything()).toEqual(before);
    rig.git('add', '-A');
    expect((await rig.run(['--dirty'])).code).toBe(0);
  });

  it('that it does not go with --ref', async () => {
    const { code, err } = await rig.run(['--dirty', '--ref', 'main']);
    expect(code).toBe(2);
    expect(err).toMatch(/^vole: option '--dirty' cannot be used with option '--ref <REF>'; see .*\n$/);
  });

  it('that git ignores the workflow, or that there is none', async () => {
    rig.write('.gitignore', '.vole.yml\n');
    rig.commit();
    const none = await rig.run(['--dirty']);
    expect(none.code).toBe(66);
    expect(none.err).toMatch(/^vole: no \.vole\.yml to run in .*app: write one.*\n$/);
    rig.workflow({ a: 'true' });
    const ignored = await rig.run(['--dirty']);
    expect(ignored.code).toBe(66);
    expect(ignored.err).toMatch(
      /^vole: no \.vole\.yml to run in .*app: git ignores the one in the folder; .*\n$/,
    );
  });

  it('that there is no commit, and runs the files', async () => {
    rig.workflow({ a: 'true' });
    const { code, err } = await rig.run(['--dirty']);
    expect({ code, err }).toEqual({ code: 0, err: 'vole: no commit here: running the files as they are\n' });
  });
});
