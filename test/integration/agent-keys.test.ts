import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { AgentFlowRig, bash, SERVICE_KEY, verdict } from '../support/agent-flow-rig.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let rig: AgentFlowRig;
beforeAll(async () => {
  rig = await AgentFlowRig.start();
});
afterAll(() => rig.close());

test('the key of the model’s service is in no report, no plan, no pull request and no log, wherever it is cut', async () => {
  const [before, after] = ['x'.repeat(490), 'y'.repeat(9)];
  rig.model.answer(
    bash(
      `: ${before}${SERVICE_KEY}${after}; echo ${SERVICE_KEY} >b.txt; cat b.txt; rm b.txt; echo two >a.txt`,
    ),
    { say: `${before}${SERVICE_KEY}\n\nIt is ${SERVICE_KEY}.` },
    verdict('accept', `not ${SERVICE_KEY}`),
  );
  const plan = 'Change a.txt.';
  const spec = { command: 'implement', branch: 'agent/issue-12', plan } as const;
  const run = rig.start(rig.remote(), spec);
  const { outcome } = await run.ended;
  expect(outcome).toMatchObject({ result: 'passed' });
  expect(outcome.agent?.report).toContain('It is ***.');
  const log = readFileSync(run.paths.spool, 'utf8');
  for (const text of [JSON.stringify(outcome), log, JSON.stringify(run.published)]) {
    expect(text).not.toContain(SERVICE_KEY.slice(0, 6));
  }
});
