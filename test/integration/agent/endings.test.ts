import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ownCgroup } from '../../../src/shared/platform/cgroup.ts';
import {
  processesWithEnv,
  processName,
  processStat,
  signalProcess,
  withDescendants,
} from '../../../src/shared/platform/processes.ts';
import { AGENT_TEST_MS, AgentRig, type AgentRun, oneTurn, opened } from '../../support/agent-rig.ts';
import type { ModelAnswer } from '../../support/model-server.ts';
import { until } from '../../support/until.ts';

let rig: AgentRig;
beforeAll(async () => {
  rig = await AgentRig.start({ answerMs: 10_000 });
});
afterAll(() => rig.close());
beforeEach(() => rig.model.forget());

const bash = (command: string): ModelAnswer => ({
  call: [{ tool: 'bash', input: { command, description: 'a test' } }],
});

/** Begins a turn, waits for what says that it is where the test wants it, stops the run. */
async function stopped(run: AgentRun, when: () => Promise<unknown>): Promise<void> {
  const turn = oneTurn(run);
  await when();
  const start = performance.now();
  run.port.cancel('cancelled', 'by the test');
  expect(await turn).toEqual({ type: 'failed', reason: 'stopped', why: 'by the test' });
  const ms = performance.now() - start;
  expect(processesWithEnv('VOLE_JOB_MARKER', run.marker)).toEqual([]);
  expect(ms).toBeLessThan(6_000);
}

describe('a run that is stopped', { timeout: AGENT_TEST_MS }, () => {
  it('ends during a call of the model, whose request is given up', async () => {
    const run = await rig.run();
    rig.model.answer({ hang: 'after-headers' });
    await stopped(run, () => rig.model.called(1));
    await rig.model.givenUp(1);
  });

  it('ends during a call of a tool that ignores TERM and has children', async () => {
    const run = await rig.run();
    rig.model.answer(bash("trap '' TERM; (trap '' TERM; sleep 300) & echo up >up; sleep 300"));
    await stopped(run, () => until('the command to run', () => existsSync(path.join(run.workspace, 'up'))));
  });

  it('ends while the server waits to ask a service again that fails', async () => {
    const run = await rig.run();
    rig.model.answer({ status: 503 });
    await stopped(run, () =>
      until('a try to have failed', () => run.log.some((line) => line.includes('try'))),
    );
  });
});

describe('a run that is stopped before the model was asked', { timeout: AGENT_TEST_MS }, () => {
  it('has it asked nothing afterwards', async () => {
    const [run, other] = [await rig.run(), await rig.run()];
    const session = await opened(run);
    rig.model.answer({ say: 'hello' });
    const turn = session.turn({ role: 'build', prompt: 'of the one that is stopped', schema: null });
    await until('the prompt to be taken', async () => {
      const connected = await run.engine.connect();
      if (!connected.ok) throw new Error(connected.failure.why);
      const { id: sessionID } = session;
      const sent = await connected.connection.ask((client) => client.session.messages({ sessionID }));
      return sent.ok && sent.data.length > 0;
    });
    run.port.cancel('cancelled', 'by the test');
    expect(await turn).toMatchObject({ reason: 'stopped' });
    await rig.server.leave(run.workspace);
    const late = rig.model.asked.length;
    expect(await oneTurn(other)).toMatchObject({ text: 'hello' });
    expect(rig.model.asked.slice(late).map(({ messages }) => JSON.stringify(messages))).toEqual([
      expect.not.stringContaining('of the one that is stopped'),
    ]);
    expect(await session.turn({ role: 'build', prompt: 'again', schema: null })).toMatchObject({
      reason: 'stopped',
    });
  });
});

describe('a run whose thread has died', { timeout: AGENT_TEST_MS }, () => {
  it('leaves no turn behind that goes on without it', async () => {
    const run = await rig.run();
    rig.model.answer({ hang: 'after-headers' });
    const turn = oneTurn(run);
    await rig.model.called(1);
    await rig.server.leave(run.workspace);
    await rig.model.givenUp(1);
    expect(await turn).toMatchObject({ type: 'failed', reason: 'server' });
    expect(rig.model.asked).toHaveLength(1);
  });
});

describe.each(['pid', 'user'] as const)(
  'what a command leaves running (%s namespace)',
  { timeout: AGENT_TEST_MS },
  (namespace) => {
    it('is ended with its turn, however it has got away, and nothing of another run is', async () => {
      const rig = await AgentRig.start({ namespace });
      onTestFinished(() => rig.close());
      const toTop = `cd /; echo 0 >${ownCgroup() ?? '/nowhere'}/cgroup.procs`;
      const [run, other] = [await rig.run(), await rig.run()];
      rig.model.script = ({ messages }) => {
        const text = JSON.stringify(messages);
        if (!text.includes('other')) {
          return messages.at(-1)?.role === 'tool'
            ? { say: 'left' }
            : bash(
                'nohup sleep 301 >/dev/null 2>&1 & (setsid sleep 302 >/dev/null 2>&1 &); ' +
                  '(setsid env -i -C / sleep 303 >/dev/null 2>&1 &); (setsid env -i sleep 304 >/dev/null 2>&1 &); ' +
                  `(setsid env -i sh -c '${toTop}; exec sleep 305' >/dev/null 2>&1 &); ` +
                  `(setsid env -i unshare -Ufp sh -c '${toTop}; exec sleep 306' >/dev/null 2>&1 &); ` +
                  'sleep 0.5; touch left; echo done',
              );
        }
        return messages.at(-1)?.role === 'tool'
          ? { say: 'kept' }
          : bash(
              '(setsid env -i -C / sleep 307 >/dev/null 2>&1 &); echo up >up; read -r _ <fifo; echo went on',
            );
      };
      execFileSync('mkfifo', [path.join(other.workspace, 'fifo')]);
      const otherTurn = oneTurn(other, { prompt: 'the other' });
      await until('the other to run', () => existsSync(path.join(other.workspace, 'up')));
      expect(await oneTurn(run)).toMatchObject({ type: 'said', text: 'left' });
      expect(existsSync(path.join(run.workspace, 'left'))).toBe(true);
      expect(['301', '302', '303', '304', '305', '306'].filter(sleeping)).toEqual([]);
      expect(sleeping('307')).toBe(other.cgroup !== null); // nothing else says whose it is
      expect((await run.engine.endLeftovers()).join('\n')).toMatch(
        /^ended process \d+ \(sleep\), which the agent had left$/m,
      );
      expect(processesWithEnv('VOLE_JOB_MARKER', other.marker).length).toBeGreaterThan(0);
      execFileSync('sh', ['-c', 'echo >fifo'], { cwd: other.workspace });
      expect(await otherTurn).toMatchObject({ type: 'said', text: 'kept' });
      expect(sleeping('307')).toBe(false);
    });
  },
);

function sleeping(seconds: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${seconds}\0`;
    } catch {
      return false;
    }
  });
}

describe('a turn', { timeout: AGENT_TEST_MS }, () => {
  it('is over its time when the model hangs', async () => {
    const run = await rig.run({ turnTimeoutMs: 3_000 });
    rig.model.answer({ hang: 'at-once' });
    expect(await oneTurn(run)).toMatchObject({ reason: 'timeout', why: 'the turn is over its 3 s' });
  });

  it('goes on in the same conversation when the server is killed, once', async () => {
    const run = await rig.run();
    const access = await rig.server.access();
    if (!access.ok) throw new Error(access.why);
    rig.model.answer({ hang: 'after-headers' });
    const session = await opened(run);
    const turn = session.turn({ role: 'build', prompt: 'a long task', schema: null });
    await rig.model.called(1);
    rig.model.answer({ say: 'done after all' });
    signalProcess(access.access.pid, 'SIGKILL');
    expect(await turn).toEqual({ type: 'said', text: 'done after all', structured: null });
    const again = JSON.stringify(rig.model.asked.at(-1)?.messages);
    expect(again.split('a long task')).toHaveLength(3);
    expect(run.log).toContain("the agent's server ended in mid-turn: it is started again");
  });
});

/** A proxy that never answers the first of these requests, and passes everything else. */
async function losing(url: string, lost: string): Promise<{ url: string; lost: () => number }> {
  let seen = 0;
  const proxy = http.createServer((request, response) => {
    if (request.url?.startsWith(lost) && ++seen === 1) return;
    const { method, headers } = request;
    const onward = http.request(`${url}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on('close', () => onward.destroy());
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  rig.cleanup.defer(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, lost: () => seen };
}

describe('a server of which one answer is lost', { timeout: AGENT_TEST_MS }, () => {
  it.each(['/session/status', '/session/ses_'])(
    'is asked again, and the turn goes on (%s)',
    async (request) => {
      let proxy: Awaited<ReturnType<typeof losing>> | null = null;
      const run = await rig.run({
        turnTimeoutMs: 40_000,
        via: async (url) => (proxy ??= await losing(url, request)).url,
      });
      rig.model.answer({ say: 'it went on' });
      expect(await oneTurn(run)).toMatchObject({ type: 'said', text: 'it went on' });
      expect((proxy as Awaited<ReturnType<typeof losing>> | null)?.lost()).toBeGreaterThan(1);
    },
  );
});

describe('a server that hangs', { timeout: AGENT_TEST_MS }, () => {
  it('is ended and started again when it is next asked for', async () => {
    const run = await rig.run();
    const access = await rig.server.access();
    if (!access.ok) throw new Error(access.why);
    const keeper = processStat(access.access.pid);
    if (!keeper) throw new Error('the server is not there');
    for (const { pid } of withDescendants([keeper])) {
      if (processName(pid) === 'opencode') signalProcess(pid, 'SIGSTOP');
    }
    rig.model.answer({ say: 'here again' });
    expect(await oneTurn(run)).toMatchObject({ type: 'said', text: 'here again' });
    expect(rig.said.join('\n')).toContain('does not answer and is ended');
  });
});
