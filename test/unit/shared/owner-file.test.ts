import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OwnerFile, parseOwner, readOwner } from '../../../src/shared/owner-file.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

const identity = {
  version: 1,
  directory: 'd',
  bootId: 'b',
  pidNamespace: 'pid:[1]',
  process: 'p',
  pid: 10,
  pidStart: '5',
  run: 1,
  attempt: 2,
  server: 's',
  repository: 'team/app',
  account: 'a',
  namespace: 'n',
  git: 'g',
  cgroup: null,
  marker: 'm',
  startedAt: 1,
} as const;
const lines = (...all: object[]): string => all.map((line) => `${JSON.stringify(line)}\n`).join('');

describe('parsing an owner record', () => {
  it('gives groups, containers and networks that have not gone', () => {
    const text = lines(
      identity,
      { what: 'group', pgid: 7, start: '1' },
      { what: 'container', engine: 'docker', id: 'x' },
      { what: 'group', pgid: 8, start: '2' },
      { what: 'group-gone', pgid: 7 },
      { what: 'network', engine: 'podman', id: 'x' },
      { what: 'container-gone', engine: 'docker', id: 'x' },
    );
    expect(parseOwner(text)).toEqual({
      identity,
      groups: [{ pgid: 8, start: '2' }],
      engineObjects: [{ kind: 'network', engine: 'podman', name: 'x' }],
      ended: null,
    });
  });

  it('gives how the run ended by the last line that says so', () => {
    const outcome = { result: 'passed', reason: null, detail: '', steps: [], durationMs: 1 };
    const cancelled = { ...outcome, result: 'cancelled', reason: 'cancelled' };
    const ended = (of: object, logLength: number): object => ({ what: 'ended', outcome: of, logLength });
    const text = lines(identity, ended(outcome, 7), ended(cancelled, 9), ended({ result: 'passed' }, 1));
    expect(parseOwner(text)).toMatchObject({ ended: { outcome: cancelled, logLength: 9 } });
  });

  it('takes the later start of a group number that came again', () => {
    const text = lines(
      identity,
      { what: 'group', pgid: 7, start: '1' },
      { what: 'group', pgid: 7, start: '9' },
    );
    expect(parseOwner(text)).toMatchObject({ groups: [{ pgid: 7, start: '9' }] });
  });

  it('passes over a torn last line and what it does not know', () => {
    const text = `${lines(identity, { what: 'new-thing' }, { what: 'group', pgid: 7, start: '1' })}{"what":"gro`;
    expect(parseOwner(text)).toMatchObject({ groups: [{ pgid: 7, start: '1' }] });
  });

  it.each([
    { of: 'nothing', text: '' },
    { of: 'a torn identity', text: JSON.stringify(identity).slice(0, 40) },
    { of: 'a later version', text: lines({ ...identity, version: 2 }) },
    { of: 'binary', text: '\0\0\0' },
  ])('of $of is unreadable', ({ text }) => {
    expect(parseOwner(text)).toBe('unreadable');
  });
});

describe('the file', () => {
  let cleanup: Cleanup;
  let tree: string;
  beforeEach(() => {
    cleanup = new Cleanup();
    tree = cleanup.tempDir();
  });
  afterEach(() => cleanup.run());

  const lineCount = (): number => readFileSync(path.join(tree, 'owner.jsonl'), 'utf8').split('\n').length - 1;

  it('is read as it was written', async () => {
    const file = new OwnerFile(tree, identity);
    cleanup.defer(() => file.close());
    file.group(process.pid);
    file.group(99_999_999);
    await until('both are written', () => lineCount() === 3);
    file.groupGone(99_999_999);
    const record = readOwner(tree);
    expect(record).toMatchObject({ identity, groups: [{ pgid: process.pid }] });
    expect(readFileSync(path.join(tree, 'owner.jsonl'), 'utf8').split('\n')).toHaveLength(5);
  });

  it('has no line of a group that had ended when it was told', async () => {
    const file = new OwnerFile(tree, identity);
    cleanup.defer(() => file.close());
    file.group(process.pid);
    file.groupGone(process.pid);
    file.group(99_999_999);
    await until('the later one is written', () => lineCount() === 2);
    expect(readFileSync(path.join(tree, 'owner.jsonl'), 'utf8')).not.toContain(`"pgid":${process.pid}`);
  });

  it("is another run's once it was emptied, without the groups and the end of the one before", () => {
    const file = new OwnerFile(tree, identity);
    cleanup.defer(() => file.close());
    file.engineObject({ kind: 'container', engine: 'docker', name: 'a' });
    file.group(process.pid);
    const passed = { result: 'passed', reason: null, detail: '', steps: [], durationMs: 1 } as const;
    file.ended({ outcome: { ...passed, steps: [] }, logLength: 7 });
    expect(readOwner(tree)).toMatchObject({ ended: { outcome: passed, logLength: 7 } });
    file.clear();
    expect(readOwner(tree)).toBe('unreadable');
    const next = { ...identity, run: 7 };
    file.renew(next);
    expect(readOwner(tree)).toEqual({ identity: next, groups: [], engineObjects: [], ended: null });
  });

  it('knows whether it is the one file at its path', () => {
    const file = new OwnerFile(tree, identity);
    const at = path.join(tree, 'owner.jsonl');
    const first = file.standingAs(at);
    expect(first).not.toBeNull();
    linkSync(at, path.join(tree, 'second-name'));
    expect(file.standingAs(at)).toBeNull();
    rmSync(path.join(tree, 'second-name'));
    expect(file.standingAs(at)).toBe(first);
    chmodSync(at, 0);
    expect(file.standingAs(at)).not.toBe(first);
    rmSync(at);
    writeFileSync(at, '');
    expect(file.standingAs(at)).toBeNull();
    file.close();
    expect(file.standingAs(at)).toBeNull();
  });

  it('is made once', () => {
    new OwnerFile(tree, identity).close();
    expect(() => new OwnerFile(tree, identity)).toThrow(/EEXIST/);
  });

  it('is null where there is none, also where the tree is a file', () => {
    const file = path.join(tree, 'file');
    writeFileSync(file, '');
    expect([readOwner(tree), readOwner(file), readOwner(path.join(tree, 'none'))]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('goes on where its file may not be written any more', () => {
    const owner = new OwnerFile(tree, identity);
    const file = path.join(tree, 'owner.jsonl');
    try {
      execFileSync('chattr', ['+i', file], { stdio: 'ignore' });
    } catch {
      owner.close();
      return; // not this file system, or not root
    }
    try {
      owner.groupGone(process.pid); // nothing throws
    } finally {
      execFileSync('chattr', ['-i', file]);
      owner.close();
    }
    expect(readOwner(tree)).toMatchObject({ groups: [] });
  });
});
