import type { Reason, StepOutcome } from '../../shared/outcome.ts';
import type { StepExit } from '../../shared/platform/step-process.ts';
import type { Stop } from '../port.ts';

export type Ended = Pick<StepOutcome, 'result' | 'exitCode' | 'signal' | 'reason' | 'detail'>;

const RESULT_OF_STOP = {
  cancelled: 'cancelled',
  interrupted: 'cancelled',
  timeout: 'timed-out',
  'disk-full': 'failed',
  host: 'failed',
  lost: 'failed',
} as const satisfies Record<Stop['reason'], StepOutcome['result']>;

/** What a step's end is called. `stop`: why we ended it, or null; `lastError`: its last line on stderr. */
export function resultOfExit(exit: StepExit, stop: Stop | null, lastError: string): Ended {
  const { exitCode, signal } = exit;
  if (stop) {
    return { result: RESULT_OF_STOP[stop.reason], exitCode, signal, reason: stop.reason, detail: stop.why };
  }
  if (exitCode === 0) return { result: 'passed', exitCode, signal, reason: null, detail: '' };
  if (signal !== null) return failed(exit, 'signal', `ended by ${signal}`);
  if (exitCode === 127 && /not found|No such file/i.test(lastError)) {
    return failed(exit, 'command-not-found', withoutScript(lastError));
  }
  if (exitCode === 126 && /permission denied|cannot execute|not executable/i.test(lastError)) {
    return failed(exit, 'not-executable', withoutScript(lastError));
  }
  return failed(exit, 'exit', `exit code ${exitCode}`);
}

/** A shell's complaint begins with the path of the script, which says nothing to whoever wrote the step. */
function withoutScript(line: string): string {
  return line.replace(/^.*\/step-\d+\.sh: (?:line )?(\d+): /, 'line $1: ');
}

export function notStarted(reason: Reason, why: string): Ended {
  return { result: 'failed', exitCode: null, signal: null, reason, detail: why };
}

export function skipped(name: string): StepOutcome {
  return { name, result: 'skipped', exitCode: null, signal: null, reason: null, detail: '', durationMs: 0 };
}

function failed(exit: StepExit, reason: Reason, detail: string): Ended {
  return {
    result: 'failed',
    exitCode: exit.exitCode,
    signal: exit.signal,
    reason,
    detail,
  };
}
