import { writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { remedyOf } from '../../src/shared/errors.ts';
import { Rig } from '../support/e2e-rig.ts';

let rig: Rig;
afterEach(() => rig.close());

const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;

describe('a server that goes and comes back', () => {
  it('is said once by a runner of many slots, and once when it is there again, after how long', async () => {
    rig = await Rig.start();
    const { ssh, http } = rig.facts;
    const runner = rig.runner(['--jobs', '8']);
    await runner.says(/vole runner ready: 8 slots/);
    rig.server.kill('SIGKILL');
    await rig.server.ended;
    await runner.says(/ECONNREFUSED/);
    await rig.startServer(['--ssh', ssh, '--http', http.replace('http://', '')]);
    await runner.says(/"msg":"connected again after \d/, 60_000);
    runner.kill('SIGTERM');
    await runner.ended;
    expect(count(runner.stderr, /connected again/g)).toBe(1);
    // The end of the session and the port that is closed, however many slots hear of it and try.
    expect(count(runner.stderr, /"level":40,.*"tries"/g)).toBeLessThanOrEqual(3);
    expect(count(runner.stderr, /ECONNREFUSED/g)).toBe(1);
  });
});

describe('a port on which nothing listens', () => {
  it('is waited for, and said once with what --server is', async () => {
    rig = await Rig.start();
    const closed = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => closed.once('listening', resolve));
    const { port } = closed.address() as net.AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const runner = rig.runner([
      '--jobs',
      '2',
      '--server',
      `ssh://tester@127.0.0.1:${port}`,
      '--log-level',
      'debug',
    ]);
    await runner.says(/"tries":1/);
    runner.kill('SIGTERM');
    expect((await runner.ended).code).toBe(0);
    expect(count(runner.stderr, /ECONNREFUSED/g)).toBe(1);
    expect(runner.stderr).toContain(`ECONNREFUSED 127.0.0.1:${port}; ${remedyOf('server-unreachable')}`);
  });
});

describe('--log-format', () => {
  it('text is for people off a terminal too, and the line that says ready stays as it is', async () => {
    rig = await Rig.start(['--log-format', 'text']);
    expect(rig.server.stdout).toMatch(/^vole server ready: http:.*\n$/);
    expect(rig.server.stderr).toMatch(/^\d\d:\d\d:\d\d info listening {2}version=/);
    const runner = rig.runner(['--once', '--lease-wait', '0'], { VOLE_LOG_FORMAT: 'text' });
    expect((await runner.ended).code).toBe(0);
    expect(runner.stdout).toMatch(/^vole runner ready: 1 slot, server .*\n$/);
    expect(runner.stderr).toMatch(/^\d\d:\d\d:\d\d info runner is stopped /m);
    expect(runner.stderr).toContain(' info no run was there to take; ');
    expect(runner.stderr).not.toContain('{"');
  });
});

describe('a run', () => {
  it('is on slot 1 where the page says so, and a runner that drains says how long and what a second signal does', async () => {
    rig = await Rig.start();
    const gate = path.join(rig.root, 'go');
    await rig.repository('o/r', { wait: { steps: [`until [ -e ${gate} ]; do sleep 0.02; done`] } });
    await rig.submit('o/r');
    const runner = rig.runner(['--drain-timeout', '90m']);
    await runner.says(/"slot":1,"job":"wait","msg":"run started"/);
    runner.kill('SIGTERM');
    await runner.says(/runner is draining: .* 1 run at most 1 h 30 min; a second signal /);
    writeFileSync(gate, '');
    expect((await runner.ended).code).toBe(0);
    expect(runner.stderr).toMatch(/"slot":1,"result":"passed",.*"msg":"run ended"/);
  });
});
