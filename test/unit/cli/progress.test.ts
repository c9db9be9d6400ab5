import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { barOf, Progress } from '../../../src/cli/progress.ts';
import { type RecordedContext, recordedContext } from '../../support/cli-context.ts';

const step = { what: 'measuring', done: 412, total: 1_000, note: '34,512 files' };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** What a command said that took so long on such an output. */
function said(given: { interactive: boolean; json?: boolean; term?: string; ms: number }): RecordedContext {
  const context = recordedContext({ env: { TERM: given.term ?? 'xterm' } });
  const progress = new Progress(
    { ...context, interactive: given.interactive },
    given.json ?? false,
    () => step,
  );
  vi.advanceTimersByTime(given.ms);
  progress.end();
  return context;
}

describe('progress', () => {
  it('is a bar with how far it is', () => {
    expect(barOf(step)).toBe('measuring  [##########--------------]  412 of 1000  34,512 files');
    expect(barOf({ ...step, done: 3, total: 0, note: '' })).toBe('measuring');
    expect(barOf({ ...step, done: 9, total: 8, note: '' })).toBe(`measuring  [${'#'.repeat(24)}]  9 of 8`);
  });

  it('is shown on a terminal after two seconds, and taken away at the end', () => {
    expect(said({ interactive: true, ms: 1_900 }).out).toBe('');
    const { out } = said({ interactive: true, ms: 2_500 });
    expect(out).toContain('412 of 1000');
    expect(out.endsWith('\u001b[1A\r\u001b[J')).toBe(true);
  });

  it.each([
    { on: 'a pipe', given: { interactive: false } },
    { on: 'a terminal for a program', given: { interactive: true, json: true } },
    { on: 'a terminal that cannot move its cursor', given: { interactive: true, term: 'dumb' } },
  ])('is nothing on $on', ({ given }) => {
    expect(said({ ...given, ms: 60_000 }).out).toBe('');
  });

  it('makes room for a warning', () => {
    const context = recordedContext({ env: { TERM: 'xterm' } });
    const progress = new Progress({ ...context, interactive: true }, false, () => step);
    vi.advanceTimersByTime(2_500);
    progress.warn('vole: odd\n');
    expect(context.err).toBe('vole: odd\n');
    expect(context.out.endsWith('\u001b[J')).toBe(true);
    progress.end();
  });
});
