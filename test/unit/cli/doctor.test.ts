import { describe, expect, it } from 'vitest';
import { missing, ok, warn } from '../../../src/cli/doctor/check.ts';
import {
  judgeDirectory,
  judgeFileSystem,
  judgeLocks,
  judgeSpace,
  mountOptionsOf,
} from '../../../src/cli/doctor/directory.ts';
import { judgeLeftovers, judgeNoEngine } from '../../../src/cli/doctor/engine.ts';
import {
  judgeCgroup,
  judgeCores,
  judgeOpenFiles,
  judgeProc,
  judgeThreadPool,
  judgeUser,
} from '../../../src/cli/doctor/host.ts';
import {
  judgeAddon,
  judgeAgent,
  judgeGit,
  judgeMkfifo,
  judgeNode,
  judgeShell,
  judgeSshKeygen,
  judgeSystemd,
} from '../../../src/cli/doctor/programs.ts';
import { renderChecks } from '../../../src/cli/doctor.ts';

const prints = (output: string) => ({ ok: true, output }) as const;
const absent = { ok: false, found: false, why: 'spawn x ENOENT' } as const;
const broken = { ok: false, found: true, why: 'Error: wrong ABI' } as const;

describe('programs', () => {
  it('are judged by their version', () => {
    expect(
      ['v20.20.2', 'v20.19.0', 'v20.18.3', 'v18.1.0', 'v22.0.0'].map((v) => judgeNode(v).status),
    ).toEqual(['ok', 'ok', 'missing', 'missing', 'ok']);
    const git = ['2.39.5', '2.32.0', '2.31.1', '2.20.1'].map(
      (v) => judgeGit(prints(`git version ${v}`)).status,
    );
    expect(git).toEqual(['ok', 'ok', 'warn', 'missing']);
  });

  it('say what a coding agent lacks, which most runners need not have', () => {
    expect(judgeAgent('1.2.3', null)).toEqual({
      name: 'coding agent',
      status: 'ok',
      found: 'OpenCode 1.2.3',
      remedy: '',
    });
    expect(judgeAgent('1.2.3', 'no build: do this')).toMatchObject({
      status: 'warn',
      found: 'no build: do this',
    });
  });

  it('are missing where nothing works without them, and warned of where something does', () => {
    expect(judgeGit(absent).status).toBe('missing');
    expect(judgeShell('sh', absent).status).toBe('missing');
    expect(judgeShell('bash', absent).status).toBe('warn');
    expect(judgeMkfifo(absent).status).toBe('missing');
    expect(judgeSshKeygen(absent).status).toBe('warn');
    expect(judgeSystemd(absent, false).status).toBe('warn');
    expect(judgeSystemd(prints('systemd 252'), false).status).toBe('warn');
    expect(judgeSystemd(prints('systemd 252'), true).status).toBe('ok');
    expect(judgeAddon('a', 'b', broken)).toMatchObject({ status: 'missing', found: 'Error: wrong ABI' });
  });

  it('may end with an error where being there is what counts', () => {
    expect(judgeSshKeygen(broken).status).toBe('ok');
    expect(judgeMkfifo(broken).status).toBe('ok');
  });
});

describe('the host', () => {
  it('needs /proc, and works better with cgroups', () => {
    expect([judgeProc(true).status, judgeProc(false).status]).toEqual(['ok', 'missing']);
    expect(judgeCgroup(null, null).status).toBe('warn');
    expect(judgeCgroup('/c', false)).toMatchObject({
      status: 'warn',
      remedy: expect.stringContaining('Delegate=yes'),
    });
    expect(judgeCgroup('/c', true).status).toBe('ok');
  });

  it('counts one job as one', () => {
    expect(judgeCores(1, 1024 ** 3, 1).found).toMatch(/^1 core, .* for 1 job$/);
  });

  it('says what is left of cores and memory for each job, and from how many on it warns', () => {
    expect(judgeCores(2, 16 * 1024 ** 3, 8)).toMatchObject({
      status: 'ok',
      found:
        '2 cores, 16 GiB for 8 jobs: 0.25 cores and 2 GiB each while all are busy; more than 8 jobs is a warning',
    });
    expect(judgeCores(2, 16 * 1024 ** 3, 2).found).toContain(': 1 core and 8 GiB each ');
  });

  it('needs threads, files and cores for its jobs', () => {
    expect(judgeThreadPool(null, 2).status).toBe('warn');
    expect(judgeThreadPool(6, 2).status).toBe('ok');
    expect(judgeThreadPool(6, 8)).toMatchObject({
      status: 'warn',
      remedy: expect.stringContaining('at least 12'),
    });
    expect(judgeThreadPool(128, 256).status).toBe('ok');
    expect(judgeOpenFiles(256, 1).status).toBe('warn');
    expect(judgeOpenFiles(256, 16)).toMatchObject({
      status: 'missing',
      remedy: expect.stringContaining('does not start'),
    });
    expect(judgeOpenFiles(1024, 4).status).toBe('ok');
    expect(judgeOpenFiles(1024, 40).status).toBe('warn');
    expect(judgeOpenFiles(null, 200).status).toBe('ok');
    expect(judgeCores(2, 4e9, 8).status).toBe('ok');
    expect(judgeCores(2, 4e9, 9).status).toBe('warn');
    expect([judgeUser(0).status, judgeUser(1000).status]).toEqual(['warn', 'ok']);
  });
});

describe('the directory', () => {
  it.each([
    [0xef53, 'ok', 'ext4'],
    [0x58465342, 'ok', 'xfs'],
    [0x6969, 'missing', 'nfs, a network file system'],
    [0xff534d42, 'missing', 'cifs, a network file system'],
    [0x01021994, 'warn', 'tmpfs, in memory'],
    [0x65735546, 'warn', 'fuse'],
    [0x12345, 'ok', 'type 0x12345, taken for local'],
  ])('on a file system of type %d is %s', (type, status, found) => {
    expect(judgeFileSystem(type, ['rw'])).toMatchObject({ status, found });
  });

  it('needs a mount that can be written and executed from', () => {
    expect(judgeFileSystem(0x9fa0, ['rw'])).toMatchObject({
      status: 'missing',
      found: expect.stringContaining('proc'),
    });
    expect(judgeFileSystem(0xef53, ['ro']).status).toBe('missing');
    expect(judgeFileSystem(0xef53, ['rw', 'noexec']).status).toBe('warn');
  });

  it('needs room', () => {
    const space = { totalBytes: 1000, freeBytes: 99, totalFiles: 100, freeFiles: 50 };
    expect(judgeSpace(space, { share: 0.1 }).status).toBe('warn');
    expect(judgeSpace(space, { bytes: 99 }).status).toBe('ok');
    expect(judgeSpace({ ...space, totalBytes: 0, freeBytes: 0 }, { share: 0.1 }).status).toBe('missing');
    expect(judgeSpace({ ...space, freeFiles: 4 }, { bytes: 1 }).found).toContain('4 inodes');
    expect(judgeSpace({ ...space, totalFiles: 0, freeFiles: 0 }, { bytes: 1 }).status).toBe('ok');
  });

  it('may be made later where its parent is writable', () => {
    expect(judgeDirectory('/a/b', { exists: false, writable: true, parent: '/a' }).status).toBe('ok');
    expect(judgeDirectory('/a/b', { exists: false, writable: false, parent: '/a' })).toMatchObject({
      status: 'missing',
      found: '/a is not writable',
    });
  });

  it('needs locks that exclude each other', () => {
    expect(judgeLocks(true, '').status).toBe('ok');
    expect(judgeLocks(false, '').status).toBe('missing');
    expect(judgeLocks(null, 'ENOLCK')).toMatchObject({ status: 'missing', found: 'ENOLCK' });
  });

  it('has the options of the innermost mount that it is on', () => {
    const mounts = [
      '1 0 8:1 / / rw,relatime - ext4 /dev/sda rw',
      '2 1 8:2 / /data rw,noexec - xfs /dev/sdb rw,attr2',
      '3 1 8:3 / /with\\040space ro - ext4 /dev/sdc ro',
    ].join('\n');
    expect(mountOptionsOf(mounts, '/data/vole')).toEqual(['rw', 'noexec', 'rw', 'attr2']);
    expect(mountOptionsOf(mounts, '/database')).toEqual(['rw', 'relatime', 'rw']);
    expect(mountOptionsOf(mounts, '/with space/x')).toContain('ro');
  });
});

it('prints a line a check, each remedy below it, and the counts', () => {
  expect(renderChecks([ok('a', 'x'), warn('bcd', 'y', 'Do z.'), missing('e', 'no', 'Install it.')])).toBe(
    [
      'ok       a    x',
      'warn     bcd  y',
      '              -> Do z.',
      'missing  e    no',
      '              -> Install it.',
      '',
      '1 ok, 1 warnings, 1 missing',
      '',
    ].join('\n'),
  );
});

describe('the engine', () => {
  const absentEngine = ['docker', { reason: 'missing', why: 'docker is not on this host' }] as const;
  const stopped = ['podman', { reason: 'unreachable', why: 'cannot connect' }] as const;

  it('may be absent where nobody has named it', () => {
    expect(judgeNoEngine('none', []).status).toBe('ok');
    expect(judgeNoEngine('auto', [[...absentEngine]])).toMatchObject({
      status: 'warn',
      found: 'neither docker nor podman is in PATH',
    });
    expect(judgeNoEngine('docker', [[...absentEngine]]).status).toBe('missing');
  });

  it('that does not answer is told of before one that is not there', () => {
    const check = judgeNoEngine('auto', [[...absentEngine], [...stopped]]);
    expect(check).toMatchObject({ status: 'warn', found: 'cannot connect' });
    expect(check.remedy).toContain('podman info');
  });

  it('has leftovers by their names, of many the first', () => {
    expect(judgeLeftovers([]).status).toBe('ok');
    expect(judgeLeftovers(['container a', 'image b'])).toMatchObject({
      status: 'warn',
      found: 'container a, image b',
    });
    expect(judgeLeftovers(Array.from({ length: 30 }, (_, at) => `image ${at}`)).found).toMatch(
      /image 19, and 10 more$/,
    );
    expect(judgeLeftovers('permission denied')).toMatchObject({ status: 'warn', found: 'permission denied' });
  });
});
