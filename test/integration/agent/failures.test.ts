import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AGENT_TEST_MS, AgentRig, oneTurn, SERVICE_KEY } from '../../support/agent-rig.ts';
import type { ModelAnswer } from '../../support/model-server.ts';

const SOON = { 'retry-after-ms': '10' };
const MOST_STEPS = 6;

let rig: AgentRig;
beforeAll(async () => {
  rig = await AgentRig.start({ mostSteps: MOST_STEPS });
});
afterAll(() => rig.close());
beforeEach(() => rig.model.forget());

const VERDICT = {
  type: 'object',
  properties: { accepted: { type: 'boolean' } },
  required: ['accepted'],
} as const;

describe('a model’s service that fails', { timeout: AGENT_TEST_MS }, () => {
  it('is reported with its status where it refuses the key, which is not quoted', async () => {
    const run = await rig.run();
    rig.model.answer({ status: 401, body: JSON.stringify({ error: { message: `bad key ${SERVICE_KEY}` } }) });
    const end = await oneTurn(run);
    expect(end).toEqual({
      type: 'failed',
      reason: 'provider',
      why: "the model's service answered 401: bad key ***",
    });
    expect(rig.model.asked).toHaveLength(1);
  });

  it('is asked again, and reported with its status where it goes on failing', async () => {
    const run = await rig.run();
    rig.model.answer({ status: 500, headers: SOON });
    expect(await oneTurn(run)).toMatchObject({
      reason: 'provider',
      why: "the model's service answered 500: the script says 500",
    });
    expect(rig.model.asked.length).toBeGreaterThan(3);
    expect(run.log).toContain("the model's service, try 1: the script says 500");
  });

  it('is what is reported where it fails for as long as the turn may last', async () => {
    const run = await rig.run({ turnTimeoutMs: 15_000 });
    rig.model.answer({ status: 503 });
    expect(await oneTurn(run)).toMatchObject({
      reason: 'provider',
      why: "the turn is over its 15 s, and the model's service failed to its end: the script says 503",
    });
  });

  it('is no failure where it answers after all', async () => {
    const run = await rig.run();
    rig.model.answer({ status: 500, headers: SOON }, { drop: true }, { say: 'here I am' });
    expect(await oneTurn(run)).toMatchObject({ type: 'said', text: 'here I am' });
  });

  it.each(['text/html; charset=utf-8', 'text/plain'])(
    'is asked once where it answers with %s',
    async (type) => {
      const run = await rig.run();
      rig.model.answer({ page: '<h1>Welcome</h1>', type });
      expect(await oneTurn(run)).toEqual({
        type: 'failed',
        reason: 'provider',
        why: `the model's service answered ${type} where a completion is expected: is --agent-url right?`,
      });
      expect(rig.model.asked).toHaveLength(1);
    },
  );

  it('is reported where what it answers is no answer', async () => {
    const run = await rig.run();
    rig.model.answer({ nonsense: 'data: {"id": 1}\n\ndata: [DONE]\n\n' });
    expect(await oneTurn(run)).toMatchObject({
      reason: 'provider',
      why: expect.stringMatching(/validation failed/),
    });
  });
});

describe('a model that', { timeout: AGENT_TEST_MS }, () => {
  it('does not give the object that it was asked for has given no answer', async () => {
    const run = await rig.run();
    rig.model.answer({ say: 'It looks fine to me!' });
    expect(await oneTurn(run, { role: 'review', schema: VERDICT })).toMatchObject({ reason: 'no-answer' });
  });

  it('says nothing has given no answer', async () => {
    const run = await rig.run();
    rig.model.answer({ say: '' });
    expect(await oneTurn(run)).toMatchObject({ reason: 'no-answer' });
  });

  it('calls a tool again and again is told to come to an end', async () => {
    const run = await rig.run();
    let calls = 0;
    rig.model.script = ({ messages }) =>
      /maximum/i.test(JSON.stringify(messages.at(-1)))
        ? { say: 'I went in circles.' }
        : { call: [{ tool: 'bash', input: { command: `echo ${++calls}`, description: 'again' } }] };
    expect(await oneTurn(run)).toMatchObject({ type: 'said', text: 'I went in circles.' });
    expect(calls).toBe(MOST_STEPS - 1);
  });

  it('does not come to an end though it was told to is brought to one', async () => {
    const run = await rig.run();
    const call: ModelAnswer = { call: [{ tool: 'bash', input: { command: 'echo', description: 'again' } }] };
    // However slow the host: by the last of these the turn is over, since no other one ends it.
    rig.model.answer(...Array.from({ length: MOST_STEPS + 10 }, () => call), { hang: 'at-once' });
    expect(await oneTurn(run)).toEqual({
      type: 'failed',
      reason: 'no-answer',
      why: 'the agent came to no end, though it was told to',
    });
  });
});
