import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { voleCommand } from '../support/vole-command.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');
let cleanup: Cleanup;
beforeEach(() => {
  cleanup = new Cleanup();
});
afterEach(() => cleanup.run());

/** The program with its standard output on a disk without room. */
function onFullDisk(args: readonly string[]) {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  cleanup.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  });
  let stderr = '';
  child.stderr?.on('data', (part: Buffer) => (stderr += part.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stderr }));
  return { child, ended };
}

describe('standard output without room', () => {
  it('does not end a runner, which finishes its run', async () => {
    const rig = await Rig.start();
    cleanup.defer(() => rig.close());
    await rig.repository('team/app', { job: { steps: ['sleep 0.2'] } });
    const runner = onFullDisk(rig.runnerArgs());
    const [run = 0] = await rig.submit('team/app');
    expect((await rig.ended(run)).state).toBe('passed');
    runner.child.kill('SIGTERM');
    expect((await runner.ended).code).toBe(0);
  });

  it('is said in one line by a command whose output is lost', async () => {
    const { code, stderr } = await onFullDisk(['--help']).ended;
    expect(stderr).toMatch(/^vole: cannot write standard output: ENOSPC.*\n$/);
    expect(code).toBe(73);
  });
});

describe('places that are none', () => {
  it.each([
    ['server', ['server', '--data', '/proc/vole-x', '--http', '127.0.0.1:0', '--ssh', '127.0.0.1:0']],
    ['client', ['repo', 'add', 'a/b', '/x', '--data', '/proc/vole-x/deep/er']],
  ])('a %s whose directory cannot be made ends with one line', async (_name, args) => {
    const { code, stderr } = await voleCommand(args);
    expect(stderr).toMatch(/^vole: cannot make the data directory \/proc\/vole-x.*ENOENT.*\n$/);
    expect(code).toBe(74);
  });

  it('a runner whose directory cannot be made ends with one line', async () => {
    const rig = await Rig.start();
    cleanup.defer(() => rig.close());
    const { code, stderr } = await voleCommand(rig.runnerArgs(['--dir', '/proc/vole-x']));
    expect(stderr).toMatch(/^vole: --dir \/proc\/vole-x cannot be used: ENOENT.*\n$/m);
    expect(code).toBe(74);
  });

  it('a working directory that was removed is said in one line', async () => {
    const folder = path.join(cleanup.tempDir('vole-gone-'), 'gone');
    mkdirSync(folder);
    const script = 'rmdir "$1"; exec "$2" "$3" runs --data data';
    const child = spawn('/bin/sh', ['-c', script, 'sh', folder, process.execPath, bin], { cwd: folder });
    let stderr = '';
    child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect(stderr).toMatch(/^vole: the working directory is not there any more.*\n$/);
    expect(code).toBe(74);
  });
});
