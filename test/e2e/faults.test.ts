import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { Rig } from '../support/e2e-rig.ts';
import { Proxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';

let rig: Rig;
afterEach(() => rig.close());

const ours = () => processesWithEnv('RIG', rig.root);
const env = () => ({ RIG: rig.root });

describe('a server killed in mid-run and started again', () => {
  it('has the log byte for byte, the result, and one attempt', async () => {
    rig = await Rig.start();
    const gate = path.join(rig.root, 'go');
    const lines = 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo "line $i"; done';
    await rig.repository('o/r', {
      a: { steps: [`${lines}; until [ -e ${gate} ]; do sleep 0.02; done; ${lines}`] },
    });
    const [id = 0] = await rig.submit('o/r');
    const { ssh, http } = rig.facts;
    rig.runner();
    await rig.logHas(id, 'line 1000');
    rig.server.kill('SIGKILL');
    await rig.server.ended;
    writeFileSync(gate, '');
    await rig.startServer(['--ssh', ssh, '--http', http.replace('http://', '')]);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 1 });
    const expected = Array.from({ length: 4000 }, (_, i) => `line ${(i % 2000) + 1}`).join('\n');
    expect(await rig.output(id)).toBe(expected);
  });
});

describe('a runner killed in mid-run', () => {
  it('leaves a run that is queued again when its lease ends, with the next attempt', async () => {
    rig = await Rig.start(['--lease-time', '2']);
    await rig.repository('o/r', {
      a: { env: env(), steps: ['echo begun; [ $VOLE_ATTEMPT = 2 ] || sleep 999'] },
    });
    const [id = 0] = await rig.submit('o/r');
    const runner = rig.runner(['--dir', path.join(rig.root, 'one')]);
    await rig.logHas(id, 'begun');
    runner.kill('SIGKILL');
    rig.runner(['--dir', path.join(rig.root, 'two')]);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 1 });
    for (const { pid } of ours()) process.kill(pid, 'SIGKILL');
  });

  it('is reported as lost at once by the next start on its directory, which ends what it left', async () => {
    rig = await Rig.start();
    await rig.repository('o/r', {
      a: { env: env(), steps: ['echo begun; [ $VOLE_ATTEMPT = 2 ] || { setsid sleep 998 & sleep 999; }'] },
    });
    const [id = 0] = await rig.submit('o/r');
    const runner = rig.runner();
    await rig.logHas(id, 'begun');
    runner.kill('SIGKILL');
    await runner.ended;
    expect(ours().length).toBeGreaterThan(0);
    await rig.runner().says(/ready/);
    expect(ours().filter((process) => process.pgid !== 0)).toEqual([]);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 1 });
    expect(await rig.output(id, 1)).toContain('begun');
  });
});

describe('a runner stopped past its lease', () => {
  it('finds its attempt stale, ends its job, and the new attempt stands alone', async () => {
    rig = await Rig.start(['--lease-time', '1']);
    const gate = path.join(rig.root, 'go');
    const step = `echo begun; until [ -e ${gate} ]; do sleep 0.02; done; echo attempt $VOLE_ATTEMPT`;
    await rig.repository('o/r', { a: { env: env(), steps: [step] } });
    const [id = 0] = await rig.submit('o/r');
    const stopped = rig.runner(['--dir', path.join(rig.root, 'one'), '--kill-grace', '0', '--once']);
    await rig.logHas(id, 'begun');
    stopped.kill('SIGSTOP');
    rig.runner(['--dir', path.join(rig.root, 'two')]);
    await rig.runIs(id, (run) => run.attempt === 2 && run.state === 'running');
    stopped.kill('SIGCONT');
    expect((await stopped.ended).code).toBe(0);
    writeFileSync(gate, '');
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2 });
    expect(await rig.output(id, 2)).toBe('begun\nattempt 2');
    expect(await rig.output(id, 1)).toBe('begun');
  });
});

describe('a connection that breaks where a record and the next lease are under way', () => {
  it.each(['drop-replies', 'black-hole'] as const)(
    'costs no result and executes nothing twice (%s)',
    async (mode) => {
      rig = await Rig.start();
      const proxy = await Proxy.start(rig.cleanup, Number(rig.facts.ssh.split(':').at(-1)));
      const gate = path.join(rig.root, 'go');
      const executed = path.join(rig.root, 'executed');
      const step = (name: string): string => `echo ${name} | tee -a ${executed}`;
      await rig.repository('o/r', {
        a: { steps: [`${step('a')}; until [ -e ${gate} ]; do sleep 0.02; done; echo last`] },
        b: { steps: [step('b')] },
        c: { steps: [step('c')] },
      });
      const ids = await rig.submit('o/r');
      const [first = 0] = ids;
      rig.runner(['--jobs', '1', '--server', `ssh://tester@127.0.0.1:${proxy.port}`]);
      await rig.logHas(first, 'a');
      // Or it is the reply to the log that is lost, which holds the record back.
      await until('the log is answered', () => proxy.answered);
      proxy.mode = mode;
      writeFileSync(gate, '');
      if (mode === 'drop-replies') await rig.ended(first);
      else await until('it is sent', () => proxy.swallowed > 0);
      proxy.cut();
      proxy.mode = 'pass';
      for (const id of ids) expect((await rig.ended(id)).state).toBe('passed');
      expect(readFileSync(executed, 'utf8')).toBe('a\nb\nc\n');
      expect(await rig.run(first)).toMatchObject({ attempt: 1, lostCount: 0 });
      expect(await rig.output(first)).toBe('a\nlast');
    },
  );
});

describe('a job that is leased with the record of the one before', () => {
  /** Two jobs, of which the first is about to end while replies are held. */
  const heldAtItsEnd = async (serverArgs: string[]) => {
    rig = await Rig.start(serverArgs);
    const proxy = await Proxy.start(rig.cleanup, Number(rig.facts.ssh.split(':').at(-1)));
    const gate = path.join(rig.root, 'go');
    const executed = path.join(rig.root, 'executed');
    const step = (name: string): string => `echo ${name} | tee -a ${executed}`;
    await rig.repository('o/r', {
      a: { steps: [`${step('a')}; until [ -e ${gate} ]; do sleep 0.02; done`] },
      b: { steps: [step('b')] },
    });
    const [first = 0, second = 0] = await rig.submit('o/r');
    const server = `ssh://tester@127.0.0.1:${proxy.port}`;
    const runner = rig.runner(['--jobs', '1', '--server', server, '--dir', path.join(rig.root, 'one')]);
    await rig.logHas(first, 'a');
    await until('the log is answered', () => proxy.answered);
    proxy.mode = 'hold-replies';
    writeFileSync(gate, '');
    return { proxy, first, second, runner, executed: () => readFileSync(executed, 'utf8') };
  };

  it('is executed once, as its first attempt', async () => {
    const { proxy, first, second, executed } = await heldAtItsEnd([]);
    await rig.ended(first);
    await rig.runIs(second, (run) => run.state === 'running');
    proxy.release();
    expect(await rig.ended(second)).toMatchObject({ state: 'passed', attempt: 1 });
    expect(executed()).toBe('a\nb\n');
  });

  it('does not begin where the reply comes when its lease may be over', async () => {
    const { proxy, second, executed } = await heldAtItsEnd(['--lease-time', '3']);
    await rig.runIs(second, (run) => run.lostCount === 1);
    proxy.release();
    expect(await rig.ended(second)).toMatchObject({ state: 'passed', attempt: 2 });
    expect(executed()).toBe('a\nb\n');
  });

  it('goes back at the next start on the directory where its runner was killed before it began', async () => {
    const { first, second, runner, executed } = await heldAtItsEnd([]);
    await rig.runIs(second, (run) => run.state === 'running');
    runner.kill('SIGKILL');
    await runner.ended;
    rig.runner(['--dir', path.join(rig.root, 'one')]);
    expect(await rig.ended(second)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 0 });
    expect(await rig.run(first)).toMatchObject({ state: 'passed', attempt: 1 });
    expect(executed()).toBe('a\nb\n');
  });

  it('goes back at the next start where its runner was told to stop while the server was away', async () => {
    const { proxy, first, second, runner, executed } = await heldAtItsEnd([]);
    await rig.runIs(second, (run) => run.state === 'running');
    const { ssh, http } = rig.facts;
    rig.server.kill('SIGKILL');
    await rig.server.ended;
    proxy.cut();
    proxy.mode = 'pass';
    await runner.says(/"tries":1/);
    runner.kill('SIGTERM');
    await runner.killAgain();
    expect((await runner.ended).code).toBe(130);
    await rig.startServer(['--ssh', ssh, '--http', http.replace('http://', '')]);
    expect((await rig.run(second)).state).toBe('running');
    rig.runner(['--dir', path.join(rig.root, 'one')]);
    expect(await rig.ended(second)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 0 });
    expect(await rig.run(first)).toMatchObject({ state: 'passed', attempt: 1 });
    expect(executed()).toBe('a\nb\n');
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'goes back at the next start also where one before that ended by %s, as a supervisor does it',
    async (signal) => {
      const { proxy, second, runner, executed } = await heldAtItsEnd([]);
      await rig.runIs(second, (run) => run.state === 'running');
      runner.kill('SIGKILL');
      await runner.ended;
      const away = ['--server', `ssh://tester@127.0.0.1:${proxy.port}`, '--log-level', 'debug'];
      const between = rig.runner(['--dir', path.join(rig.root, 'one'), ...away]);
      await between.says(/"step":"probe"/);
      between.kill(signal);
      await between.ended;
      rig.runner(['--dir', path.join(rig.root, 'one')]);
      expect(await rig.ended(second)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 0 });
      expect(executed()).toBe('a\nb\n');
    },
  );

  it.each([
    ['late', (proxy: Proxy) => proxy.release()],
    [
      'never',
      (proxy: Proxy) => {
        proxy.cut();
        proxy.mode = 'pass';
      },
    ],
  ])('is given back by a runner that was told to stop before the reply, which comes %s', async (_, goOn) => {
    const { proxy, second, runner, executed } = await heldAtItsEnd([]);
    await rig.runIs(second, (run) => run.state === 'running');
    runner.kill('SIGTERM');
    await runner.says(/draining/);
    goOn(proxy);
    expect((await runner.ended).code).toBe(0);
    expect(executed()).toBe('a\n');
    rig.runner(['--dir', path.join(rig.root, 'two')]);
    expect(await rig.ended(second)).toMatchObject({ state: 'passed', attempt: 2, lostCount: 0 });
  });
});

describe('a full disk', () => {
  it('fails the job saying so, pauses leasing, and goes on when there is room', async () => {
    rig = await Rig.start();
    const dir = path.join(rig.root, 'small');
    mkdirSync(dir);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', dir]);
    rig.cleanup.defer(() => void execFileSync('umount', ['-l', dir]));
    const blocker = path.join(dir, 'blocker');
    await rig.repository('o/r', {
      full: {
        steps: [`dd if=/dev/zero of=${blocker} bs=1M 2>/dev/null || true; yes 0123456789 | head -c 4000000`],
      },
      after: { needs: [], steps: ['echo fine'] },
    });
    const [full = 0, after = 0] = await rig.submit('o/r');
    const runner = rig.runner(['--dir', dir, '--min-free', '20%']);
    expect(await rig.ended(full)).toMatchObject({ state: 'failed', reason: 'disk-full' });
    await runner.says(/paus/);
    expect((await rig.run(after)).state).toBe('queued');
    rmSync(blocker);
    expect(await rig.ended(after)).toMatchObject({ state: 'passed' });
  });
});
