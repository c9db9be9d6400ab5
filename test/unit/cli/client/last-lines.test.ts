import { describe, expect, it } from 'vitest';
import { LastLinesOf } from '../../../../src/cli/client/last-lines.ts';

function last(log: string, step: number | null, pieceBytes = 1_000_000) {
  const kept = new LastLinesOf(step);
  const bytes = Buffer.from(log);
  for (let at = 0; at < bytes.length; at += pieceBytes) kept.push(bytes.subarray(at, at + pieceBytes));
  return kept.last;
}

describe('the last lines of a step', () => {
  it('are ten of its own, without what vole says of the step itself', () => {
    const many = Array.from({ length: 20 }, (_, at) => `${at} 2 o line ${at}\n`).join('');
    const log = `0 1 o other\n0 2 v step 2: test\n${many}30 2 v step 2 failed: exit code 1\n40 3 o after\n`;
    const { lines, endMs } = last(log, 2);
    expect(lines).toEqual(Array.from({ length: 10 }, (_, at) => `line ${at + 10}`));
    expect(endMs).toBe(40);
    expect(last(log, null).lines.at(-1)).toBe('after');
  });

  it('command no terminal, and are not endless', () => {
    const log = `1 1 o \u001b[31mred\u001b[0m\u001b[2J\u001b]0;title\u0007\u009b1m end\n2 1 o ${'x'.repeat(5_000)}\n`;
    const [coloured = '', long = ''] = last(log, 1).lines;
    expect(coloured).toBe('red1m end');
    expect(long).toHaveLength(300);
    expect(long.endsWith('…')).toBe(true);
  });

  it('are the same wherever the bytes are cut, a line in several records once', () => {
    const log = '1 1 O héad\n1 1 O more\n2 1 e beside\n3 1 o end\n4 1 o next\n';
    for (const piece of [1, 2, 3, 100]) expect(last(log, 1, piece).lines).toEqual(['héad', 'beside', 'next']);
    expect(last('', 1)).toEqual({ lines: [], endMs: null });
  });
});
