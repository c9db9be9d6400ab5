import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PROTOCOL_VERSION } from '../../src/shared/protocol/messages.ts';
import { HELLO, leaseRequest, SshRig } from '../support/ssh-rig.ts';
import { outcome } from '../support/store-rig.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let rig: SshRig;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await SshRig.open(cleanup);
  await rig.start();
});
afterEach(() => cleanup.run());

const hasSsh = spawnSync('ssh', ['-V']).status === 0;

test.runIf(hasSsh)('a runner on OpenSSH gets a run from hello to record', async () => {
  const key = path.join(cleanup.tempDir(), 'key');
  writeFileSync(key, rig.key.privateKey, { mode: 0o600 });
  const options = [
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'IdentitiesOnly=yes',
    'BatchMode=yes',
  ];
  const child = spawn('ssh', [
    '-T',
    '-F',
    '/dev/null',
    '-i',
    key,
    '-p',
    String(rig.server.port),
    ...options.flatMap((option) => ['-o', option]),
    'build1@127.0.0.1',
    'vole-runner',
  ]);
  cleanup.defer(() => void child.kill('SIGKILL'));
  const exited = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (message: object, bytes = '') => {
    child.stdin.write(`${JSON.stringify(message)}\n${bytes}`);
    const { value } = (await lines.next()) as { value: string };
    return JSON.parse(value) as unknown;
  };
  const run = await rig.add();
  const which = { run, attempt: 1 };
  expect(await ask({ type: 'hello', protocol: PROTOCOL_VERSION, ...HELLO })).toMatchObject({
    type: 'welcome',
  });
  expect(await ask({ type: 'lease', ...leaseRequest(1) })).toMatchObject({ type: 'job', ...which });
  expect(await ask({ type: 'heartbeat', ...which })).toEqual({ type: 'ok' });
  expect(await ask({ type: 'log', ...which, offset: 0, bytes: 6 }, 'a\n{b}\n')).toEqual({
    type: 'ok',
    offset: 6,
  });
  const record = { type: 'record', ...which, outcome: outcome('passed'), logLength: 6 };
  expect(await ask(record)).toEqual({ type: 'ok' });
  expect(await ask({ type: 'bye' })).toEqual({ type: 'ok' });
  expect((await exited)[0]).toBe(0);
  expect((await rig.run(run)).state).toBe('passed');
});
