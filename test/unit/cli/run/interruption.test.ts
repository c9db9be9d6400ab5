import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CliContext } from '../../../../src/cli/context.ts';
import { Interruption } from '../../../../src/cli/run/interruption.ts';
import { recordedContext } from '../../../support/cli-context.ts';

const listeners = new Map<string, () => void>();
let context: CliContext;
let interruption: Interruption;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  listeners.clear();
  context = {
    ...recordedContext(),
    onSignal: (signal, listener) => {
      listeners.set(signal, listener);
      return () => void listeners.delete(signal);
    },
  };
  interruption = new Interruption(context);
});
afterEach(() => {
  interruption.close();
  vi.useRealTimers();
});

const send = (signal: string) => listeners.get(signal)?.();
const closeOutput = () => {
  if (typeof context.onClosedOutput === 'function') context.onClosedOutput();
};

describe('an interruption', () => {
  it('is one for signals that come together, and each later one is more urgent', () => {
    const levels: number[] = [];
    interruption.onRaised((level) => levels.push(level));
    expect(interruption.exitStatus).toBeNull();
    send('SIGINT');
    send('SIGTERM');
    vi.advanceTimersByTime(301);
    send('SIGINT');
    expect(levels).toEqual([1, 2]);
    expect(interruption.exitStatus).toBe(130);
    expect(interruption.signal.aborted).toBe(true);
  });

  it('that came before anybody listened is told at once', () => {
    send('SIGHUP');
    const levels: number[] = [];
    interruption.onRaised((level) => levels.push(level));
    expect(levels).toEqual([1]);
  });

  it('by a reader that goes is as a first signal, with the status of a closed pipe', () => {
    const levels: number[] = [];
    interruption.onRaised((level) => levels.push(level));
    closeOutput();
    expect(levels).toEqual([1]);
    expect(interruption.exitStatus).toBe(141);
    expect(interruption.unread).toBe(true);
  });

  it('ends the waiting for work that has not begun', async () => {
    const waiting = interruption.orInterrupted(new Promise(() => {}));
    send('SIGTERM');
    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
    await expect(interruption.orInterrupted(new Promise(() => {}))).rejects.toMatchObject({
      code: 'interrupted',
    });
  });

  it('lets work through where there is none', async () => {
    expect(await interruption.orInterrupted(Promise.resolve(3))).toBe(3);
  });

  it('leaves signals and output as they were when it is closed', () => {
    interruption.close();
    interruption.close();
    expect(listeners.size).toBe(0);
    expect(context.onClosedOutput).toBe('end');
  });
});
