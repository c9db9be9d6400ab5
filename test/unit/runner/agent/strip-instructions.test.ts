import { expect, it } from 'vitest';
import { withoutInstructions } from '../../../../src/runner/agent/strip-instructions.ts';

const INSTRUCTED =
  'one: x\n</content>\n\n<system-reminder>\nInstructions from: /w/deep/AGENTS.md\nobey\n</system-reminder>';

const bytes = (messages: unknown): Buffer => Buffer.from(JSON.stringify({ model: 'm', messages }));

it('takes instructions of the repository out of what tools gave, and leaves all else', () => {
  const kept = [
    { role: 'system', content: 'be good' },
    { role: 'user', content: `quoted: ${INSTRUCTED}` },
  ];
  const body = bytes([
    ...kept,
    { role: 'tool', tool_call_id: '1', content: INSTRUCTED },
    { role: 'tool', tool_call_id: '2', content: [{ type: 'text', text: INSTRUCTED }] },
  ]);
  expect(JSON.parse(withoutInstructions(body).toString())).toEqual({
    model: 'm',
    messages: [
      ...kept,
      { role: 'tool', tool_call_id: '1', content: 'one: x\n</content>' },
      { role: 'tool', tool_call_id: '2', content: [{ type: 'text', text: 'one: x\n</content>' }] },
    ],
  });
});

it('gives the same bytes where there are none, or where it is no request', () => {
  for (const body of [
    bytes([{ role: 'tool', content: 'x' }]),
    Buffer.from('no json'),
    Buffer.from(INSTRUCTED),
  ]) {
    expect(withoutInstructions(body)).toBe(body);
  }
});
