import { describe, expect, it } from 'vitest';
import { askedBy } from '../../../../src/server/hooks/command-text.ts';

const asked = (body: string) => askedBy(body, 'agent');

describe('a comment', () => {
  it.each([
    ['/agent plan', 'plan', ''],
    ['  \n\r\n/agent implement', 'implement', ''],
    ['/agent  fix   the tests ', 'fix', 'the tests'],
    ['/agent fix\r\nline one\r\nline two\r\n', 'fix', 'line one\nline two'],
    ['/agent\tPLAN: no', null, ''],
    ['/agent PLAN a', 'plan', 'a'],
    ['/agent plan\u0000 with\u0000 NUL', 'plan', 'with NUL'],
    ['/agent plan ünïcode 日本', 'plan', 'ünïcode 日本'],
  ])('%j asks for %s', (body, name, message) => {
    expect(asked(body)).toEqual(name === null ? null : { type: 'command', name, message });
  });

  it.each([
    '/agent',
    '/agent\nplan',
    '/agent planning',
    '/agents plan',
    '/Agent plan',
    'agent plan',
    '/agent constructor',
    '',
  ])('%j asks for nothing', (body) => {
    expect(asked(body)).toBeNull();
  });

  it('may abort, whatever follows', () => {
    expect(asked('/agent abort')).toEqual({ type: 'abort' });
    expect(asked('/agent abort it, please')).toEqual({ type: 'abort' });
  });

  it('has a message that a variable can hold, cut between characters', () => {
    const long = asked(`/agent plan ${'ü'.repeat(100_000)}`);
    const message = long?.type === 'command' ? long.message : '';
    expect(Buffer.byteLength(message)).toBe(64 * 1024);
    expect(message).not.toContain('\uFFFD');
    const odd = asked(`/agent plan x${'ü'.repeat(100_000)}`);
    expect(odd?.type === 'command' ? odd.message.at(-1) : '').toBe('ü');
  });

  it('costs little whatever it holds', () => {
    const began = performance.now();
    expect(asked(`/${' '.repeat(500_000)}`)).toBeNull();
    expect(asked(`/agent${' '.repeat(500_000)}!`)).toBeNull();
    expect(asked(`${'/agent '.repeat(100_000)}plan`)).toBeNull();
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
