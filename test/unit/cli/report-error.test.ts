import { expect, it } from 'vitest';
import { reportError } from '../../../src/cli/report-error.ts';
import { ERRORS, VoleError } from '../../../src/shared/errors.ts';

it('gives each code of the table its exit status and its message in one line', () => {
  for (const [code, { exit }] of Object.entries(ERRORS)) {
    const error = new VoleError(code as keyof typeof ERRORS, 'what, what to do');
    expect(reportError(error, false)).toEqual({ exit, lines: ['vole: what, what to do'] });
  }
});

it('calls anything else an internal error, without its stack', () => {
  const report = reportError(new TypeError('x is not\na function'), false);
  expect(report).toEqual({
    exit: 70,
    lines: ['vole: internal error: x is not; a function; run again with --verbose and report the stack'],
  });
  expect(reportError('text', false).lines).toHaveLength(1);
  expect(reportError(undefined, true).exit).toBe(70);
});

it('adds the stack and its causes where asked', () => {
  const error = new VoleError('io-error', 'f cannot be read', { cause: new Error('EIO') });
  const text = reportError(error, true).lines.join('\n');
  expect(text).toMatch(/VoleError: f cannot be read/);
  expect(text).toMatch(/caused by Error: EIO/);
});
