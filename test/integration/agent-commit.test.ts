import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AgentWorkspace } from '../support/agent-workspace.ts';
import { Cleanup } from '../support/temp.ts';

const cleanup = new Cleanup();
afterAll(() => cleanup.run());

const MIB = 1024 * 1024;

function workspace(
  files: Record<string, string> = { 'a.txt': 'one\n', '.gitignore': 'out/\n' },
  prepare?: ConstructorParameters<typeof AgentWorkspace>[2],
): AgentWorkspace {
  return new AgentWorkspace(cleanup, files, prepare);
}

/** Names and blobs of a commit. */
function treeOf(agent: AgentWorkspace, commit: string): Record<string, string> {
  const lines = agent.remote.git('ls-tree', '-r', commit).split('\n');
  return Object.fromEntries(
    lines.map((line) => [line.slice(line.indexOf('\t') + 1), line.split(/[ \t]/)[0] ?? '']),
  );
}

/** Of a repository within the workspace. */
function commitIn(dir: string): void {
  const who = ['-c', 'user.name=x', '-c', 'user.email=x@example.org'];
  execFileSync('git', ['-C', dir, ...who, 'commit', '-q', '-a', '-m', 'x']);
}

const write = (agent: AgentWorkspace, name: string, text: string, mode = 0o644): void => {
  const file = path.join(agent.src, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
};

describe('the one commit', () => {
  test('has the checked-out commit as parent, the bot as author and the message as it was given', async () => {
    const agent = workspace();
    write(agent, 'a.txt', 'two\n');
    write(agent, 'deep/new.txt', 'new\n');
    const made = await agent.commit('Title\n\nWhy.\n\nVole-Run: 7\n');
    const shown = agent.remote.git('show', '-s', '--format=%P|%an <%ae>|%cn <%ce>|%B', made.commit);
    expect(shown).toBe(
      `${agent.parent}|vole-bot <bot@example.org>|vole-bot <bot@example.org>|Title\n\nWhy.\n\nVole-Run: 7`,
    );
    expect(agent.remote.git('show', `${made.commit}:a.txt`)).toBe('two');
    expect(made.snapshot.files).toEqual(['M a.txt', 'A deep/new.txt']);
  });

  test('is bundled alone, with its parent as what it needs, and told by size and digest', async () => {
    const agent = workspace();
    write(agent, 'a.txt', 'two\n');
    const { artifact, commit } = await agent.commit();
    const bytes = readFileSync(artifact.path);
    expect(artifact).toMatchObject({
      name: 'vole-agent-change',
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    const listed = execFileSync('git', ['bundle', 'list-heads', artifact.path], { encoding: 'utf8' });
    expect(listed.trim()).toBe(`${commit} refs/vole/change`);
    expect(agent.remote.git('rev-list', '--count', `${agent.parent}..${commit}`)).toBe('1');
    expect(bytes.toString('latin1')).toContain(`\n-${agent.parent}`);
  });

  test('is one, whether the agent committed itself, often, on another branch, or reset what was there', async () => {
    const agent = workspace({ 'a.txt': 'one\n', 'b.txt': 'b\n' }, (remote) => {
      remote.commit({ 'first.txt': '1' });
    });
    agent.git('checkout', '-q', '-b', 'elsewhere');
    for (const name of ['x', 'y', 'z']) {
      write(agent, name, name);
      agent.git('add', '-A');
      agent.git('commit', '-q', '-m', name);
    }
    agent.git('reset', '-q', '--soft', 'HEAD~1');
    agent.git('rm', '-q', 'b.txt');
    const { commit } = await agent.commit();
    expect(agent.remote.git('rev-list', '--parents', '-1', commit)).toBe(`${commit} ${agent.parent}`);
    expect(Object.keys(treeOf(agent, commit))).toEqual(['a.txt', 'first.txt', 'x', 'y', 'z']);
  });

  test.each([
    ['deleted', () => {}],
    ['a file', (git: string) => writeFileSync(git, 'gitdir: /nowhere\n')],
    ['a link', (git: string) => symlinkSync('/etc', git)],
  ])('is made where the agent left .git %s', async (_, make) => {
    const agent = workspace();
    const git = path.join(agent.src, '.git');
    rmSync(git, { recursive: true });
    make(git);
    write(agent, 'a.txt', 'two\n');
    const { commit } = await agent.commit();
    expect(treeOf(agent, commit)).toEqual({ '.gitignore': '100644', 'a.txt': '100644' });
  });

  test('leaves out what the repository ignores, and takes what only the agent wanted ignored', async () => {
    const agent = workspace();
    write(agent, 'out/built.js', 'x');
    mkdirSync(path.join(agent.src, '.git/info'), { recursive: true });
    write(agent, '.git/info/exclude', 'secret\n');
    agent.git('config', 'core.excludesFile', path.join(agent.src, '.git/info/exclude'));
    write(agent, 'secret', 'x');
    const { commit } = await agent.commit();
    expect(Object.keys(treeOf(agent, commit))).toEqual(['.gitignore', 'a.txt', 'secret']);
  });

  test('keeps links as links, wherever they lead, and follows none', async () => {
    const agent = workspace({ 'dir/a': 'a\n', 'dir/b': 'b\n', c: 'c\n' });
    rmSync(path.join(agent.src, 'dir'), { recursive: true });
    symlinkSync('/etc', path.join(agent.src, 'dir'));
    rmSync(path.join(agent.src, 'c'));
    symlinkSync('../../../outside', path.join(agent.src, 'c'));
    const { commit } = await agent.commit();
    expect(treeOf(agent, commit)).toEqual({ c: '120000', dir: '120000' });
  });

  test('has files and folders that the agent made unreadable', async () => {
    const agent = workspace();
    write(agent, 'hidden/deep/x', 'x');
    write(agent, 'closed', 'y');
    chmodSync(path.join(agent.src, 'closed'), 0);
    chmodSync(path.join(agent.src, 'hidden'), 0);
    const { commit } = await agent.commit();
    expect(Object.keys(treeOf(agent, commit))).toEqual(['.gitignore', 'a.txt', 'closed', 'hidden/deep/x']);
  });

  test('leaves out what is no file', async () => {
    const agent = workspace({ 'a.txt': 'one\n', pipe: 'was a file\n' });
    rmSync(path.join(agent.src, 'pipe'));
    execFileSync('mkfifo', [path.join(agent.src, 'pipe'), path.join(agent.src, 'other')]);
    write(agent, 'a.txt', 'two\n');
    const made = await agent.commit();
    expect(made.snapshot.files).toEqual(['M a.txt']);
    expect(made.snapshot.notes).toEqual(['pipe is no file']);
  });
});

describe('a hostile workspace', () => {
  /** Settings and files that make git run a program, in any git directory that is looked at. */
  function arm(gitDir: string, proof: string): void {
    const program = path.join(gitDir, 'program');
    writeFileSync(program, `#!/bin/sh\ntouch ${proof}\ncat\n`, { mode: 0o755 });
    mkdirSync(path.join(gitDir, 'hooks'), { recursive: true });
    for (const hook of [
      'pre-commit',
      'commit-msg',
      'post-index-change',
      'reference-transaction',
      'post-commit',
    ]) {
      writeFileSync(path.join(gitDir, 'hooks', hook), `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 });
    }
    writeFileSync(
      path.join(gitDir, 'config'),
      [
        '[core]',
        '\trepositoryformatversion = 0',
        '\tbare = false',
        `\tfsmonitor = ${program}`,
        `\thooksPath = ${path.join(gitDir, 'hooks')}`,
        `\tpager = ${program}`,
        `[filter "evil"]\n\tclean = ${program}\n\tsmudge = ${program}\n\tprocess = ${program}\n\trequired = true`,
        `[diff "evil"]\n\tcommand = ${program}\n\ttextconv = ${program}`,
        `[diff]\n\texternal = ${program}`,
        `[gpg]\n\tprogram = ${program}`,
        '[commit]\n\tgpgSign = true',
        '[status]\n\tsubmoduleSummary = true',
        '',
      ].join('\n'),
    );
  }

  test('runs nothing of its hooks, filters, monitor and diff programs', async () => {
    const agent = workspace();
    const proof = path.join(path.dirname(agent.src), 'proof');
    arm(path.join(agent.src, '.git'), proof);
    write(agent, '.gitattributes', '* filter=evil diff=evil\n');
    write(agent, 'a.txt', 'two\n');
    // The trap is one: the agent's own git runs into it.
    expect(() => agent.git('add', 'a.txt')).toThrow(/filter 'evil' failed/);
    expect(existsSync(proof)).toBe(true);
    rmSync(proof);
    const { commit, snapshot } = await agent.commit();
    expect(existsSync(proof)).toBe(false);
    expect(agent.remote.git('show', `${commit}:a.txt`)).toBe('two');
    expect(snapshot.diff).toContain('+two');
  });

  test('a repository in it is left out, with a note, and nothing of it is run', async () => {
    const agent = workspace();
    const proof = path.join(path.dirname(agent.src), 'proof');
    for (const nested of ['nested', 'deep/er', 'empty']) {
      const dir = path.join(agent.src, nested);
      mkdirSync(dir, { recursive: true });
      execFileSync('git', ['init', '-q', dir]);
      writeFileSync(path.join(dir, 'f'), 'f');
      if (nested !== 'empty') {
        execFileSync('git', ['-C', dir, 'add', '-A']);
        commitIn(dir);
      }
      arm(path.join(dir, '.git'), proof);
    }
    write(agent, 'a.txt', 'two\n');
    const { snapshot, commit } = await agent.commit();
    expect(snapshot.notes).toEqual([
      'deep/er/ is a repository of its own',
      'empty/ is a repository of its own',
      'nested/ is a repository of its own',
    ]);
    expect(Object.keys(treeOf(agent, commit))).toEqual(['.gitignore', 'a.txt']);
    expect(existsSync(proof)).toBe(false);
  });

  test('a submodule stays at its commit, whatever the agent did in it, and nothing of it is run', async () => {
    const inner = workspace({ f: 'inner\n' });
    const agent = workspace({ 'a.txt': 'one\n' }, (remote) => {
      for (const name of ['kept', 'dropped', 'empty', 'files']) {
        remote.git('update-index', '--add', '--cacheinfo', `160000,${inner.parent},${name}`);
        mkdirSync(path.join(remote.dir, name)); // so that the next `git add -A` leaves it in
      }
      remote.git('commit', '-q', '-m', 'submodules');
    });
    expect(agent.remote.git('ls-tree', agent.parent)).toContain('160000');
    const proof = path.join(path.dirname(agent.src), 'proof');
    const kept = path.join(agent.src, 'kept');
    rmSync(kept, { recursive: true, force: true });
    execFileSync('git', ['clone', '-q', inner.remote.dir, kept]);
    writeFileSync(path.join(kept, 'f'), 'changed\n');
    commitIn(kept);
    arm(path.join(kept, '.git'), proof);
    rmSync(path.join(agent.src, 'dropped'), { recursive: true });
    write(agent, 'files/now', 'ordinary\n');
    const { commit, snapshot } = await agent.commit();
    expect(treeOf(agent, commit)).toEqual({
      'a.txt': '100644',
      kept: '160000',
      empty: '160000',
      'files/now': '100644',
    });
    expect(agent.remote.git('rev-parse', `${commit}:kept`)).toBe(inner.parent);
    expect(snapshot.notes).toEqual([]);
    expect(existsSync(proof)).toBe(false);
  });

  test('a .git that is only named so is never taken', async () => {
    const agent = workspace();
    write(agent, 'sub/.git/config', '[core]\n');
    write(agent, 'sub/code', 'x');
    const { commit } = await agent.commit();
    expect(Object.keys(treeOf(agent, commit))).toEqual(['.gitignore', 'a.txt', 'sub/code']);
  });

  test('the ignored and the unreadable cannot hide a change', async () => {
    const agent = workspace({ 'a.txt': 'one\n' });
    agent.git('update-index', '--assume-unchanged', 'a.txt');
    write(agent, 'a.txt', 'two\n');
    const { snapshot } = await agent.commit();
    expect(snapshot.files).toEqual(['M a.txt']);
  });

  test('one that was replaced by a link fails before git looks at it', async () => {
    const agent = workspace();
    renameSync(agent.src, `${agent.src}-moved`);
    const { taken } = await agent.snapshot();
    expect(taken.ok).toBe(false);
  });
});

describe('bounds', () => {
  test('one file over 100 MiB is refused in one line, before it is read', async () => {
    const agent = workspace();
    write(agent, 'big.bin', '');
    truncateSync(path.join(agent.src, 'big.bin'), 101 * MIB);
    const { taken } = await agent.snapshot();
    expect(taken).toEqual({ ok: false, reason: 'agent', why: 'big.bin has 101 MiB, over 100 MiB' });
  });

  test('so are many that are too much together, and not those that are ignored', async () => {
    const agent = workspace();
    mkdirSync(path.join(agent.src, 'out'));
    write(agent, 'out/ignored.bin', '');
    truncateSync(path.join(agent.src, 'out/ignored.bin'), 200 * MIB);
    for (const name of ['a', 'b', 'c']) write(agent, `${name}.bin`, 'x'.repeat(MIB));
    const bounds = { mostFileBytes: 2 * MIB, mostBytes: 2 * MIB };
    const { taken } = await agent.snapshot({ bounds });
    expect(taken).toEqual({ ok: false, reason: 'agent', why: 'the change has 3 MiB in 3 files, over 2 MiB' });
  });

  test('a bundle over the artifact limit is refused and leaves no file', async () => {
    const agent = workspace();
    write(agent, 'a.txt', 'two\n');
    const making = agent.commit('t\n', { artifactLimitBytes: 10 });
    await expect(making).rejects.toThrow(/over the limit of 10 bytes \(--artifact-limit\)/);
    expect(existsSync(path.join(path.dirname(agent.src), 'artifacts/vole-agent-change.bundle'))).toBe(false);
  });

  test('a long diff is cut at a line and names the files instead', async () => {
    const agent = workspace();
    write(agent, 'long.txt', 'a line of some length\n'.repeat(20_000));
    write(agent, 'z.txt', 'z\n');
    const { snapshot } = await agent.commit();
    expect(snapshot.diff.length).toBeLessThan(100 * 1024);
    expect(snapshot.diff).toMatch(/\n\+a line of some length\n\n\[The diff is longer/);
    expect(snapshot.diff).toContain('A z.txt');
  });
});

test('nothing changed is no file, and a change of mode is one', async () => {
  const agent = workspace();
  const same = await agent.snapshot();
  expect(same.taken.ok && same.taken.snapshot.files).toEqual([]);
  chmodSync(path.join(agent.src, 'a.txt'), 0o755);
  const other = await agent.snapshot();
  expect(other.taken.ok && other.taken.snapshot.files).toEqual(['M a.txt']);
});

test('a review sees all since the fork point, the commit has only what is new', async () => {
  const agent = new AgentWorkspace(cleanup, { 'earlier.txt': 'e\n' }, (remote) => {
    remote.commit({ 'a.txt': 'one\n' });
  });
  write(agent, 'a.txt', 'two\n');
  const { taken } = await agent.snapshot({ base: agent.remote.git('rev-parse', 'HEAD~1') });
  if (!taken.ok) throw new Error(taken.why);
  expect(taken.snapshot.files).toEqual(['M a.txt']);
  expect(taken.snapshot.diff).toContain('earlier.txt');
  const unknown = await agent.snapshot({ base: 'f'.repeat(40) });
  expect(unknown.taken.ok && unknown.taken.snapshot.diff).not.toContain('earlier.txt');
});

test('a run that is stopped ends its git, and every group was announced and gone', async () => {
  const agent = workspace();
  write(agent, 'a.txt', 'two\n');
  await agent.snapshot();
  agent.stop();
  const { taken } = await agent.snapshot();
  expect(taken.ok).toBe(false);
  const groups = (type: string) =>
    agent.told
      .flatMap((message) => (message.type === type && 'pgid' in message ? [message.pgid] : []))
      .toSorted((one, other) => one - other);
  await expect.poll(() => groups('process-gone')).toEqual(groups('process'));
  expect(groups('process').length).toBeGreaterThan(5);
});
