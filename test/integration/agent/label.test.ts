import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AGENT_LABEL } from '../../../src/shared/agent/spec.ts';
import { AGENT_OPTIONS } from '../../support/agent-rig.ts';
import { RunnerRig } from '../../support/runner-rig.ts';
import { until } from '../../support/until.ts';

let rig: RunnerRig;
beforeEach(() => {
  rig = new RunnerRig();
});
afterEach(() => rig.cleanup.run());

const service = { url: 'http://127.0.0.1:9/v1', key: null, context7Key: null };

it('a runner that does agent runs offers their label, and starts nothing before one comes', async () => {
  await rig.start({ worker: 'worker.js', agent: { options: AGENT_OPTIONS, service } });
  const run = await rig.queue('true', { labels: [AGENT_LABEL] });
  expect((await rig.runEnded(run)).state).toBe('passed');
  expect(existsSync(path.join(rig.dir, 'dir', 'agent'))).toBe(false);
});

it('another runner does not offer it', async () => {
  await rig.start({ worker: 'worker.js' });
  const wanting = await rig.queue('true', { labels: [AGENT_LABEL] });
  const plain = await rig.queue('true');
  await rig.runEnded(plain);
  await until('the first to wait', async () => (await rig.run(wanting)).state === 'queued');
});

it('the keys that a runner has for agents are in no log of its runs', async () => {
  const keys = { key: 'sk-of-the-service-1', context7Key: 'ctx7-of-the-documentation' };
  await rig.start({
    worker: 'worker.js',
    agent: { options: AGENT_OPTIONS, service: { ...service, ...keys } },
  });
  const run = await rig.queue(`echo one ${keys.key}, ${keys.context7Key} two`);
  expect((await rig.runEnded(run)).state).toBe('passed');
  const log = rig.smallLog(run);
  expect(rig.output(run)).toBe('one ***, *** two');
  for (const key of Object.values(keys)) expect(log).not.toContain(key);
});
