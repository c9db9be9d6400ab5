import { oneLine } from '../shared/errors.ts';
import type { Reason, RunOutcome, StepOutcome } from '../shared/outcome.ts';
import type { TaskResult, WorkerTask } from '../shared/worker-messages.ts';
import { RunLog } from './log/run-log.ts';
import { MainThread, type Stop } from './port.ts';
import { decidingStep, runSteps } from './steps/run-steps.ts';

/** What a part of the run before or after its steps gives where it fails. */
export interface PartFailure {
  readonly reason: Reason;
  readonly why: string;
}

const RESULT_OF_STOP = {
  cancelled: 'cancelled',
  interrupted: 'interrupted',
  timeout: 'timed-out',
} as const satisfies Record<Stop['reason'], RunOutcome['result']>;

/** One run: checkout, steps, artifacts, outcome. What it holds belongs to it alone and goes with it. */
export async function executeRun(task: WorkerTask): Promise<TaskResult> {
  const start = performance.now();
  const main = new MainThread(task.port);
  let log: RunLog;
  try {
    log = new RunLog({
      file: task.paths.spool,
      limitBytes: task.logLimitBytes,
      secrets: Object.values(task.spec.secrets),
      startedAt: task.startedAt,
      onSpooled: (bytes) => main.tell({ type: 'spooled', bytes }),
    });
  } catch (error) {
    main.close();
    const full = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    const failure = {
      reason: full ? 'disk-full' : 'host',
      why: `the log cannot be opened: ${oneLine(error)}`,
    } as const;
    return { outcome: outcomeOf(null, failure, [], null, start), logBytes: 0 };
  }
  const { timeoutMs } = task.spec;
  const overdue = setTimeout(
    () => main.stop({ reason: 'timeout', why: `the job is over its ${timeoutMs / 60_000} minutes` }),
    Math.min(timeoutMs, 2 ** 31 - 1),
  );
  try {
    const { failure, steps } = await parts(task, main, log);
    const deciding = decidingStep(task.spec.steps, steps);
    const outcome = outcomeOf(main.stopped, failure ?? spoolFailure(log), steps, deciding, start);
    if (outcome.result !== 'passed') log.say(0, `${outcome.result}: ${outcome.detail}`);
    const logBytes = log.close();
    return { outcome, logBytes };
  } finally {
    clearTimeout(overdue);
    main.close();
  }
}

async function parts(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
): Promise<{ failure: PartFailure | null; steps: StepOutcome[] }> {
  if (task.spec.source && task.paths.git) {
    const { checkOut } = await import('./checkout/check-out.ts');
    const failure = await checkOut(task, task.spec.source, task.paths.git, main, log);
    if (failure || main.stopped) return { failure, steps: [] };
  }
  const steps = await runSteps(task, main, log);
  if (task.spec.artifacts.length === 0 || main.stopped) return { failure: null, steps };
  const { collectArtifacts } = await import('./artifacts/collect.ts');
  return { failure: await collectArtifacts(task, main, log), steps };
}

function spoolFailure(log: RunLog): PartFailure | null {
  if (!log.failure) return null;
  const full = log.failure.code === 'ENOSPC' || log.failure.code === 'EDQUOT';
  return { reason: full ? 'disk-full' : 'host', why: `the log cannot be written: ${oneLine(log.failure)}` };
}

function outcomeOf(
  stop: Stop | null,
  failure: PartFailure | null,
  steps: StepOutcome[],
  deciding: number | null,
  start: number,
): RunOutcome {
  const durationMs = Math.round(performance.now() - start);
  if (stop)
    return { result: RESULT_OF_STOP[stop.reason], reason: stop.reason, detail: stop.why, steps, durationMs };
  if (failure) {
    return { result: 'failed', reason: failure.reason, detail: failure.why.slice(0, 500), steps, durationMs };
  }
  const step = deciding === null ? undefined : steps[deciding];
  if (!step) return { result: 'passed', reason: null, detail: '', steps, durationMs };
  const result = step.result === 'timed-out' ? 'timed-out' : 'failed';
  const detail = `step ${(deciding ?? 0) + 1} (${step.name}): ${step.detail}`.slice(0, 500);
  return { result, reason: step.reason, detail, steps, durationMs };
}
