import type { AssistantMessage, Part } from '@opencode-ai/sdk/v2/client';
import { describe, expect, it } from 'vitest';
import {
  isComplete,
  type MessageWithParts,
  turnEnd,
} from '../../../../../src/worker/agent/opencode/turn-end.ts';

function answer(
  info: Partial<AssistantMessage>,
  ...texts: readonly (string | Partial<Part>)[]
): MessageWithParts {
  const parts = texts.map((text, at) => ({
    id: `p${at}`,
    type: 'text',
    ...(typeof text === 'string' ? { text } : text),
  }));
  const message = { id: 'm', role: 'assistant', time: { created: 1, completed: 2 }, ...info };
  return { info: message as AssistantMessage, parts: parts as Part[] };
}

describe('what a turn came to', () => {
  it('is the text of the model’s last message, without the server’s own', () => {
    const last = answer({ finish: 'stop' }, 'one', { text: 'hidden', synthetic: true }, ' two\n');
    expect(turnEnd(last, false)).toEqual({ type: 'said', text: 'one\n\n two', structured: null });
  });

  it('is the object where one was asked for', () => {
    expect(turnEnd(answer({ finish: 'tool-calls', structured: { a: 1 } }), true)).toEqual({
      type: 'said',
      text: '',
      structured: { a: 1 },
    });
  });

  it.each([
    ['no message at all', null, false, 'server'],
    ['one that was left open', answer({}, 'half of it'), false, 'server'],
    ['one without a word', answer({ finish: 'stop' }, ' \n'), false, 'no-answer'],
    ['text in place of an object', answer({ finish: 'stop' }, '{"a": 1}'), true, 'no-answer'],
    ['a list in place of an object', answer({ finish: 'stop', structured: [1] }), true, 'no-answer'],
  ] as const)('is a failure with %s', (_, last, wantsObject, reason) => {
    expect(turnEnd(last, wantsObject)).toMatchObject({ type: 'failed', reason });
  });

  it('names the status of a service that failed, in one line of bounded length', () => {
    const message = `overloaded\n${'x'.repeat(1000)}`;
    const end = turnEnd(
      answer({ error: { name: 'APIError', data: { message, statusCode: 503, isRetryable: true } } }),
      false,
    );
    expect(end).toMatchObject({ reason: 'provider' });
    expect(end).toHaveProperty(
      'why',
      expect.stringMatching(/^the model's service answered 503: overloaded x{350,370}$/),
    );
  });
});

describe('a message is the last of its turn', () => {
  it.each([
    ['not while it grows', answer({ time: { created: 1 } }), false],
    ['not where it calls tools', answer({ finish: 'tool-calls' }), false],
    ['where it hands in an object', answer({ finish: 'tool-calls', structured: {} }), true],
    ['where it has an error', answer({ error: { name: 'UnknownError', data: { message: 'x' } } }), true],
    ['where it has come to its end', answer({ finish: 'stop' }), true],
  ] as const)('%s', (_, last, complete) => {
    expect(isComplete(last)).toBe(complete);
  });
});
