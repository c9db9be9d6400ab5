import { describe, expect, it } from 'vitest';
import { colouredOnly, LogPrinter, type PrintOptions } from '../../../../src/cli/client/log-printer.ts';

function print(log: string, options: Partial<PrintOptions> = {}, pieceBytes = 1_000_000): string {
  const printer = new LogPrinter({
    step: null,
    stamps: false,
    raw: false,
    json: false,
    prefix: '',
    terminal: false,
    ...options,
  });
  const bytes = Buffer.from(log);
  let text = '';
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += printer.push(bytes.subarray(at, at + pieceBytes));
  return text + printer.end();
}

describe('a printed log', () => {
  const log = '0 0 v starting\n10 1 o hello €\n1500 2 e oops\n';

  it('is its texts, wherever the bytes are cut', () => {
    for (const piece of [1, 2, 3, 7, 1000]) expect(print(log, {}, piece)).toBe('starting\nhello €\noops\n');
  });

  it('may have stamps, a prefix, or be one step', () => {
    expect(print(log, { stamps: true })).toBe(
      '    0.000 0 starting\n    0.010 1 hello €\n    1.500 2 oops\n',
    );
    expect(print(log, { prefix: 'test | ' })).toBe('test | starting\ntest | hello €\ntest | oops\n');
    expect(print(log, { step: 2 })).toBe('oops\n');
    expect(print(log, { raw: true, step: 1 })).toBe('10 1 o hello €\n');
    expect(print(log, { raw: true })).toBe(log);
  });

  it('may be JSON for programs, an object a record', () => {
    const lines = print('5 1 O a"b\n6 1 o \u001b[1mc\nno record\n', { json: true }).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { ms: 5, step: 1, stream: 'o', text: 'a"b', continues: true },
      { ms: 6, step: 1, stream: 'o', text: '\u001b[1mc', continues: false },
      { ms: null, step: null, stream: null, text: 'no record', continues: false },
    ]);
    expect(print(log, { json: true, step: 2 })).toBe(
      '{"ms":1500,"step":2,"stream":"e","text":"oops","continues":false}\n',
    );
  });

  it('joins the records of a long line, and keeps two streams apart', () => {
    expect(print('1 1 O aaa\n1 1 O bbb\n1 1 o ccc\n2 1 o next\n')).toBe('aaabbbccc\nnext\n');
    expect(print('1 1 O aaa\n1 1 e mid\n1 1 o bbb\n')).toBe('aaa\nmid\nbbb\n');
    expect(print('1 1 O unfinished\n')).toBe('unfinished\n');
  });

  it('loses neither empty lines, nor a last record without newline, nor what is no record', () => {
    expect(print('1 1 o \n1 1 o \n1 1 o x')).toBe('\n\nx\n');
    expect(print('garbage\n1 1 o x\n')).toBe('garbage\nx\n');
  });

  it('gives a terminal colours, and nothing that commands it', () => {
    expect(colouredOnly('\u001b[1;31mred\u001b[0m\ttab')).toBe('\u001b[1;31mred\u001b[0m\ttab');
    expect(colouredOnly('a\u001b[2Jb\u001b]0;title\u0007c\u001b]52;c;eA==\u001b\\d\re\u0008f\u009bg')).toBe(
      'abcdefg',
    );
    expect(print('1 1 o \u001b[2Jx\n')).toBe('\u001b[2Jx\n');
  });

  it('gives a terminal a progress bar as it was at last, and a file every byte of it', () => {
    const bar = '1 1 o 1%\r\u001b[32m50%\r\u001b[32m100%\u001b[0m\n';
    expect(print(bar, { terminal: true })).toBe('\u001b[32m100%\u001b[0m\n');
    expect(print(bar)).toBe('1%\r\u001b[32m50%\r\u001b[32m100%\u001b[0m\n');
  });
});
