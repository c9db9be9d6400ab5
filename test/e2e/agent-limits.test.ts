import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { AgentE2eRig } from '../support/agent-e2e-rig.ts';
import { bash, verdict } from '../support/agent-flow-rig.ts';
import type { ModelAnswer, ModelRequest } from '../support/model-server.ts';
import { until } from '../support/until.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 180_000 });

let rig: AgentE2eRig;
afterEach(() => rig.close());

const issueOf = ({ messages }: ModelRequest): number =>
  Number(/about its issue #(\d+)/.exec(JSON.stringify(messages))?.[1]);
const isReview = ({ tools }: ModelRequest): boolean => tools.includes('StructuredOutput');

/** Command lines of all processes that hold this text. */
function processes(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return ''; // it has ended meanwhile
      }
    })
    .filter((line) => line.includes(text));
}

describe('with at most two commands at once', () => {
  it('of three targets two are worked on, and the third when one has ended', async () => {
    rig = await AgentE2eRig.start(['--max-concurrent-commands', '2']);
    rig.runner();
    const open = new Map<number, (answer: ModelAnswer) => void>();
    const begun: number[] = [];
    rig.model.script = (request) => {
      if (isReview(request)) return verdict('accept');
      begun.push(issueOf(request));
      return new Promise((resolve) => open.set(issueOf(request), resolve));
    };
    for (const issue of [3, 4, 5]) await rig.forge.comment(issue, 'alice', '/agent plan');
    await until('two turns', () => begun.length === 2, 90_000);
    const states = async () => (await rig.forge.vole.runs()).map(({ state }) => state).toSorted();
    expect(await states()).toEqual(['queued', 'running', 'running']);
    const [first = 0, second = 0] = begun;
    open.get(first)?.({ say: `Plan of ${first}.` });
    await rig.says(first, 0, new RegExp(`\\*\\*passed\\*\\*[\\s\\S]*Plan of ${first}\\.`));
    await until('the third turn', () => begun.length === 3, 90_000);
    expect((await states()).filter((state) => state === 'running')).toHaveLength(2);
    for (const issue of begun.slice(1)) open.get(issue)?.({ say: `Plan of ${issue}.` });
    for (const issue of begun.slice(1)) await rig.says(issue, 0, new RegExp(`Plan of ${issue}\\.`));
    expect([first, second, begun[2] ?? 0].toSorted((one, other) => one - other)).toEqual([3, 4, 5]);
  });

  it('those of one target are worked on one after the other, in their order', async () => {
    rig = await AgentE2eRig.start(['--max-concurrent-commands', '2']);
    rig.runner();
    const turns: string[] = [];
    rig.model.script = (request) => {
      // The other comment stands among those of the issue.
      const message = /message of the command plan, by alice\\n(\w+)/;
      const which = message.exec(JSON.stringify(request.messages))?.[1] ?? '';
      turns.push(`${isReview(request) ? 'review' : 'draft'} ${which}`);
      return isReview(request) ? verdict('accept') : { say: `A plan, ${which}.` };
    };
    await rig.forge.comment(3, 'alice', '/agent plan first of all');
    await rig.forge.comment(3, 'alice', '/agent plan --fresh second');
    await rig.says(3, 1, /\*\*passed\*\*[\s\S]*A plan, second\./);
    expect(rig.own(3)[0]).toMatch(/\*\*passed\*\*[\s\S]*A plan, first\./);
    expect(turns).toEqual(['draft first', 'review first', 'draft second', 'review second']);
  });
});

describe('an abort ends the run within 10 s, and the comment says so', () => {
  const aborted = async (): Promise<void> => {
    const start = performance.now();
    await rig.forge.comment(3, 'alice', '/agent abort');
    await rig.says(3, 0, /\*\*cancelled\*\*/);
    expect(performance.now() - start).toBeLessThan(10_000);
  };

  it('during a tool call, with what that had started', async () => {
    rig = await AgentE2eRig.start();
    rig.runner();
    rig.model.script = (request) =>
      isReview(request)
        ? verdict('accept')
        : request.model === 'planner'
          ? { say: 'A plan.' }
          : bash('(setsid sleep 31337 &); sleep 31337');
    expect(await rig.command(3, '/agent plan')).toContain('**passed**');
    await rig.forge.comment(3, 'alice', '/agent implement');
    await until('the tool to run', () => processes('sleep 31337').length >= 2, 90_000);
    const start = performance.now();
    await rig.forge.comment(3, 'alice', '/agent abort');
    await rig.says(3, 1, /\*\*cancelled\*\*/);
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(processes('sleep 31337')).toEqual([]);
  });

  it('while the service of models fails and is asked again', async () => {
    rig = await AgentE2eRig.start();
    rig.runner();
    rig.model.answer({ status: 500 });
    await rig.forge.comment(3, 'alice', '/agent plan');
    await rig.model.called(2);
    await aborted();
  });

  it('during an install script', async () => {
    rig = await AgentE2eRig.start();
    const scripts = path.join(rig.forge.vole.root, 'scripts');
    mkdirSync(scripts);
    writeFileSync(path.join(scripts, 'slow'), '#!/bin/sh\nsleep 31338\n');
    rig.runner(['--install-scripts', 'slow', '--install-scripts-dir', scripts]);
    await rig.forge.comment(3, 'alice', '/agent plan');
    await until('the script to run', () => processes('sleep 31338').length > 0, 60_000);
    await aborted();
    expect(processes('sleep 31338')).toEqual([]);
    expect(rig.model.asked).toEqual([]);
  });
});

it('a runner that is killed in mid-turn leaves a comment that says lost, and room for the next', async () => {
  rig = await AgentE2eRig.start(['--lease-time', '5s']);
  const runner = rig.runner();
  rig.model.answer({ hang: 'after-headers' });
  await rig.forge.comment(3, 'alice', '/agent plan');
  await rig.model.called(1);
  runner.kill('SIGKILL');
  await runner.ended;
  await rig.says(3, 0, /\*\*lost\*\*/);
  rig.model.answer({ say: 'A plan.' }, verdict('accept'));
  rig.runner();
  expect(await rig.command(3, '/agent plan')).toMatch(/\*\*passed\*\*[\s\S]*A plan\./);
});
