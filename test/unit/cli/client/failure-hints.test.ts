import { describe, expect, it } from 'vitest';
import { type FailureFacts, failureHint } from '../../../../src/cli/client/failure-hints.ts';

type Step = NonNullable<FailureFacts['step']>;

function hint(step: Partial<Step> | null, lines: string[] = [], reason: string | null = 'exit') {
  return failureHint({
    reason,
    step: step && { exitCode: 1, signal: null, reason: 'exit', ...step },
    lines,
  });
}

describe('the hint of a failure', () => {
  it.each<[string, Partial<Step>, RegExp]>([
    ['137', { exitCode: 137 }, /was killed .*memory.*dmesg/],
    ['SIGKILL', { exitCode: null, signal: 'SIGKILL', reason: 'signal' }, /was killed .*memory/],
    ['127', { exitCode: 127, reason: 'command-not-found' }, /127 is a command that was not found/],
    ['127 of a program', { exitCode: 127 }, /127 is a command that was not found/],
    ['126', { exitCode: 126, reason: 'not-executable' }, /126 is a file that may not be executed/],
  ])('says what %s means', (_, step, expected) => {
    expect(hint(step)).toMatch(expected);
  });

  it('says for sure what is known for sure: that memory ran out', () => {
    const known = hint({ exitCode: 137, reason: 'out-of-memory' }, [], 'out-of-memory');
    expect(known).toMatch(/for want of memory/);
    expect(known).not.toMatch(/often/);
  });

  it.each([
    '/tree/step-1.sh: 3: [[: not found',
    'step-1.sh: 1: source: not found',
    'step-1.sh: 2: Bad substitution',
    'step-1.sh: 4: Syntax error: "(" unexpected',
    'step-1.sh: 1: set: Illegal option -o pipefail',
  ])('knows bash in sh by %s, before what the exit code alone would say', (line) => {
    expect(hint({ exitCode: 127 }, ['before', line])).toMatch(/`shell: bash`/);
    expect(hint({ exitCode: 2 }, [line, 'after'])).toMatch(/`shell: bash`/);
  });

  it('takes nothing for bash in sh that another shell or program has said', () => {
    expect(hint({ exitCode: 127 }, ['sh: 1: [[: not found'])).toMatch(/127 is a command/);
    expect(hint({ exitCode: 4 }, ['[[: not found', '/tree/step-1.sh: line 3: source: not found'])).toBeNull();
  });

  it('tells a step whose spawner was killed from a host of which nothing was heard', () => {
    expect(hint({ exitCode: null, reason: 'lost' }, [], 'lost')).toMatch(/killed its own parent/);
    expect(hint(null, [], 'lost')).toMatch(/nothing was heard/);
  });

  it('does not take a kill of ours for one of the kernel, nor an ordinary failure for anything', () => {
    expect(hint({ exitCode: null, signal: 'SIGKILL', reason: 'cancelled' }, [], 'cancelled')).toBeNull();
    expect(hint({ exitCode: 137, reason: 'timeout' }, [], 'timeout')).toMatch(/timeout-minutes/);
    expect(hint({ exitCode: 1 }, ['2 tests failed'])).toBeNull();
    expect(hint(null, [], 'checkout')).toBeNull();
  });
});
