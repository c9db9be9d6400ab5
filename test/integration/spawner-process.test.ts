import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Spawner } from '../../src/runner/pool/spawner.ts';
import { SpawnerClient } from '../../src/worker/steps/spawner-client.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let folder: string;
let client: SpawnerClient;
let socket: string;

beforeEach(async () => {
  cleanup = new Cleanup();
  folder = cleanup.tempDir();
  const file = path.resolve(import.meta.dirname, '../../dist/spawner.js');
  const spawner = new Spawner(file, path.join(folder, 'socket'));
  cleanup.defer(() => spawner.close());
  socket = (await spawner.socket()) ?? '';
  client = new SpawnerClient(socket);
  cleanup.defer(() => client.close());
});
afterEach(() => cleanup.run());

function fifo(name: string): string {
  const file = path.join(folder, name);
  execFileSync('mkfifo', [file]);
  return file;
}

function readerOf(file: string): number {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  cleanup.defer(() => closeSync(fd));
  return fd;
}

const command = (script: string, stdout: string, stderr: string) => ({
  file: '/bin/sh',
  args: ['-c', script],
  cwd: folder,
  env: { ONLY: 'this' },
  stdout,
  stderr,
});

test('a step has the output that was asked for, its own environment alone, and its exit is told', async () => {
  const [out, err] = [fifo('out'), fifo('err')];
  const [outReader, errReader] = [readerOf(out), readerOf(err)];
  const script = 'echo "$ONLY,$MALLOC_ARENA_MAX,$UV_THREADPOOL_SIZE"; echo error >&2; exit 7';
  const spawned = await client.spawn(command(script, out, err));
  expect(spawned?.ok && (await spawned.exited)).toEqual({ exitCode: 7, signal: null });
  const block = Buffer.alloc(100);
  expect(block.toString('utf8', 0, readSync(outReader, block))).toBe('this,,\n');
  expect(block.toString('utf8', 0, readSync(errReader, block))).toBe('error\n');
  expect(readSync(outReader, block)).toBe(0); // nobody holds it open any more
});

test('output that cannot be opened is answered, and holds up nobody', async () => {
  const [out, err] = [fifo('out'), fifo('err')];
  const reader = readerOf(out);
  expect(await client.spawn(command('exit 0', out, path.join(folder, 'none')))).toBeNull();
  expect(await client.spawn(command('exit 0', path.join(folder, 'none'), err))).toBeNull();
  expect(readSync(reader, Buffer.alloc(1))).toBe(0); // what was opened for it is closed
  const [later, error] = [readerOf(out), readerOf(err)];
  expect(later).toBeGreaterThan(0);
  expect(error).toBeGreaterThan(0);
  const spawned = await client.spawn(command('kill -9 $$', out, err));
  expect(spawned?.ok && (await spawned.exited)).toEqual({ exitCode: null, signal: 'SIGKILL' });
});

test('output that has become another file is not written to', async () => {
  const [err, file] = [fifo('err'), path.join(folder, 'file')];
  readerOf(err);
  writeFileSync(file, 'precious');
  expect(await client.spawn(command('echo spoilt', file, err))).toBeNull();
  expect(readFileSync(file, 'utf8')).toBe('precious');
});

test('a FIFO that nobody reads does not hold up the next step', async () => {
  const [unread, out, err] = [fifo('unread'), fifo('out'), fifo('err')];
  readerOf(out);
  readerOf(err);
  const alone = client.spawn(command('exit 0', unread, err));
  const spawned = await client.spawn(command('touch done; exit 0', out, err));
  expect(spawned?.ok && (await spawned.exited)).toEqual({ exitCode: 0, signal: null });
  expect(existsSync(path.join(folder, 'done'))).toBe(true);
  const first = await alone;
  expect(first === null || first.ok).toBe(true);
});

test('a step is not started a second time where a spawner was killed that may have started it', async () => {
  const [out, err] = [fifo('out'), fifo('err')];
  const reader = readerOf(out);
  readerOf(err);
  const first = await client.spawn(command('echo $PPID', out, err));
  expect(first?.ok && (await first.exited)).toEqual({ exitCode: 0, signal: null });
  const block = Buffer.alloc(100);
  const pid = Number(block.toString('utf8', 0, readSync(reader, block)));
  process.kill(pid, 'SIGSTOP');
  const asked = client.spawn(command('exit 0', out, err));
  process.kill(pid, 'SIGKILL');
  expect(await asked).toMatchObject({ ok: false, why: expect.stringContaining('was killed') });
  expect(client.ended).toBe(true);
  const late = new SpawnerClient(socket);
  cleanup.defer(() => late.close());
  expect(await late.spawn(command('exit 0', out, err))).toBeNull();
  expect(late.ended).toBe(false);
});
