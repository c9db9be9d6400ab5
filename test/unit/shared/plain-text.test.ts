import { describe, expect, it } from 'vitest';
import { age, lastDrawn, plain, shortRef } from '../../../src/shared/plain-text.ts';

describe('text on a page', () => {
  it('has no terminal sequences and no control characters, but keeps its tabs', () => {
    expect(
      plain('\u009b\u001b[31;1mred\u001b[0m\t\u001b]0;title\u0007x\u001b]8;;http://a\u001b\\link\r\u0000'),
    ).toBe('red\txlink');
    expect(plain('ünïcode € 🙂')).toBe('ünïcode € 🙂');
  });

  it.each([
    ['p 1%\rp 50%\rp 100%', 'p 100%'],
    ['p 1%\rp 100%\r', 'p 100%'],
    ['p 1%\rdone\r\u001b[K', 'done'],
    ['\r\u001b[2K  \r', ''],
    ['no such thing', 'no such thing'],
  ])('shows of %j, which draws over itself, %j', (line, shown) => {
    expect(lastDrawn(line)).toBe(shown);
  });

  it('says how long ago', () => {
    const now = 1_000_000_000;
    expect(age(now - 5_000, now)).toBe('5 s ago');
    expect(age(now + 5_000, now)).toBe('0 s ago');
    expect(age(now - 3 * 60_000, now)).toBe('3 min ago');
    expect(age(now - 5 * 3_600_000, now)).toBe('5 h ago');
    expect(age(now - 72 * 3_600_000, now)).toBe('3 d ago');
  });

  it('shortens the names of branches and tags alone', () => {
    expect(['refs/heads/a/b', 'refs/tags/v1', 'refs/pull/1/head'].map(shortRef)).toEqual([
      'a/b',
      'v1',
      'refs/pull/1/head',
    ]);
  });
});
