import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AGENT_TEST_MS, AgentRig, opened, SERVICE_KEY } from '../../support/agent-rig.ts';

let rig: AgentRig;
beforeAll(async () => {
  rig = await AgentRig.start();
});
afterAll(() => rig.close());
beforeEach(() => rig.model.forget());

const VERDICT = {
  type: 'object',
  properties: { accepted: { type: 'boolean' } },
  required: ['accepted'],
} as const;

describe('a turn', { timeout: AGENT_TEST_MS }, () => {
  it('is answered by the role’s model, with the real key, and told of in the log', async () => {
    const run = await rig.run();
    rig.model.answer(
      { call: [{ tool: 'bash', input: { command: 'echo made >made.txt', description: 'makes it' } }] },
      { say: 'It is made.' },
    );
    const session = await opened(run);
    expect(await session.turn({ role: 'build', prompt: 'make it', schema: null })).toEqual({
      type: 'said',
      text: 'It is made.',
      structured: null,
    });
    expect(readFileSync(path.join(run.workspace, 'made.txt'), 'utf8')).toBe('made\n');
    expect(run.log).toEqual(['[bash] echo made >made.txt', 'It is made.']);
    const [first] = rig.model.asked;
    expect(first).toMatchObject({ model: 'builder', headers: { authorization: `Bearer ${SERVICE_KEY}` } });

    rig.model.answer({ call: [{ tool: 'StructuredOutput', input: { accepted: true } }] });
    const verdict = await session.turn({ role: 'review', prompt: 'is it good?', schema: VERDICT });
    expect(verdict).toMatchObject({ type: 'said', structured: { accepted: true } });
    const asked = rig.model.asked.at(-1);
    expect(asked).toMatchObject({ model: 'planner', body: { reasoning_effort: 'high' } });
    expect(JSON.stringify(asked?.messages)).toContain('make it');
  });
});
