import { describe, expect, it } from 'vitest';
import { LiveLines } from '../../../../src/cli/run/live-lines.ts';
import { paintFor } from '../../../../src/cli/run/paint.ts';
import { resultTable, seconds } from '../../../../src/cli/run/result-table.ts';
import { SlotLines } from '../../../../src/cli/run/slot-lines.ts';

const plain = paintFor({ env: {}, interactive: false });
const coloured = paintFor({ env: { TERM: 'xterm' }, interactive: true });

describe('colours', () => {
  it.each([
    { env: {}, interactive: true, wanted: true },
    { env: {}, interactive: false, wanted: false },
    { env: { NO_COLOR: '1' }, interactive: true, wanted: false },
    { env: { NO_COLOR: '' }, interactive: true, wanted: true },
    { env: { TERM: 'dumb' }, interactive: true, wanted: false },
  ])('are $wanted with $env where a terminal is $interactive', ({ wanted, ...context }) => {
    expect(paintFor(context)('red', 'x') !== 'x').toBe(wanted);
  });
});

describe('live lines', () => {
  function screen(interactive: boolean, columns = 40) {
    let out = '';
    const lines = new LiveLines(
      (text) => (out += text),
      interactive,
      () => columns,
    );
    return { lines, out: () => out };
  }

  it('are erased before anything is printed and drawn again below it', () => {
    const { lines, out } = screen(true);
    lines.set(['one', 'two']);
    lines.print('said\n');
    lines.clear();
    const erase = '\u001b[2A\r\u001b[J';
    expect(out()).toBe(`one\ntwo\n${erase}said\none\ntwo\n${erase}`);
  });

  it('are cut at the width, so that one line stays one', () => {
    const { lines, out } = screen(true, 25);
    lines.set(['x'.repeat(100)]);
    expect(out()).toBe(`${'x'.repeat(23)}…\n`);
  });

  it('are not there where no terminal is: what is printed is written as it is', () => {
    const { lines, out } = screen(false);
    lines.set(['one']);
    lines.print('said\n');
    lines.clear();
    expect(out()).toBe('said\n');
  });
});

describe('the lines of slots', () => {
  it('say what each runs, how long, and the last line of its own', () => {
    const slots = new SlotLines(3, plain);
    const busy = [
      { slot: 0, run: 1, job: 'a' },
      { slot: 2, run: 2, job: 'test' },
    ];
    slots.lines(busy, 1_000);
    slots.printed('a    | one\ntest | \u001b[31mtwo\u001b[0m\na    | three\na    | \n');
    expect(slots.lines(busy, 3_500)).toEqual([
      'slot 1  a       2.5s  three',
      'slot 2  idle',
      'slot 3  test    2.5s  two',
    ]);
  });

  it('say of those that run nothing yet that they start', () => {
    const slots = new SlotLines(2, plain);
    expect(slots.lines([], 0, 'starting')).toEqual(['slot 1  starting', 'slot 2  starting']);
    expect(slots.lines([{ slot: 1, run: 1, job: 'a' }], 0, 'starting')[0]).toBe('slot 1  starting');
  });

  it('show busy slots only where there are many, and how many there are', () => {
    const slots = new SlotLines(64, plain);
    const busy = Array.from({ length: 20 }, (_, at) => ({ slot: at * 3, run: at, job: 'j' }));
    const lines = slots.lines(busy, 0);
    expect(lines).toHaveLength(11);
    expect(lines[1]).toMatch(/^slot 4 /);
    expect(lines.at(-1)).toBe('54 more slots, 20 of 64 busy');
  });

  it('end a colour that a job did not, so that it does not run into the next line', () => {
    const slots = new SlotLines(1, plain);
    expect(slots.printed('a | \u001b[31mred\n')).toBe('a | \u001b[31mred\u001b[0m\n');
  });
});

describe('the table of results', () => {
  const results = [
    { run: 1, job: 'lint', state: 'passed' as const, durationMs: 1_240, detail: '' },
    { run: 2, job: 'a test', state: 'failed' as const, durationMs: 61_000, detail: 'exit\u001b[2J code 3' },
    { run: 3, job: 'b', state: 'cancelled' as const, durationMs: null, detail: '`a test` failed' },
  ];

  it('has why beside what did not pass, without what would command the terminal', () => {
    expect(resultTable(results, plain)).toBe(
      [
        '  job     result     time',
        '✓ lint    passed     1.2s',
        '✗ a test  failed     1m01s  exit code 3',
        '- b       cancelled         `a test` failed',
        '',
      ].join('\n'),
    );
  });

  it('is green, red and yellow on a terminal', () => {
    const lines = resultTable(results, coloured).split('\n');
    expect(lines.map((line) => line.slice(0, 5))).toEqual(
      ['\u001b[2m ', '\u001b[32m', '\u001b[31m', '\u001b[33m', ''].map((text) => text.slice(0, 5)),
    );
  });

  it('says minutes from a minute on', () => {
    expect([seconds(0), seconds(59_940), seconds(60_000), seconds(3_600_000)]).toEqual([
      '0.0s',
      '59.9s',
      '1m00s',
      '60m00s',
    ]);
  });
});
