import type { JobContainer } from '../shared/engine/job-container.ts';
import { wholeLine } from '../shared/errors.ts';
import type { JobSpec } from '../shared/job-spec.ts';
import type { RunOutcome, StepOutcome } from '../shared/outcome.ts';
import type { TaskResult, WorkerTask } from '../shared/worker-messages.ts';
import { RunLog } from './log/run-log.ts';
import { SpoolProgress } from './log/spool-progress.ts';
import type { PartFailure, PartsDone } from './part-failure.ts';
import { MainThread, type Stop } from './port.ts';
import { HostPlace } from './steps/host-place.ts';
import { decidingStep, runSteps } from './steps/run-steps.ts';

const RESULT_OF_STOP = {
  cancelled: 'cancelled',
  interrupted: 'interrupted',
  timeout: 'timed-out',
  'disk-full': 'failed',
  host: 'failed',
  lost: 'lost',
} as const satisfies Record<Stop['reason'], RunOutcome['result']>;

/** One run: checkout, steps or an agent's turns, artifacts, outcome. What it holds belongs to it alone and goes with it. */
export async function executeRun(task: WorkerTask): Promise<TaskResult> {
  const start = performance.now();
  const main = new MainThread(task.port, task.streams);
  const progress = new SpoolProgress((bytes) => main.tell({ type: 'spooled', bytes }));
  const log = new RunLog({
    fd: task.spoolFd,
    limitBytes: task.logLimitBytes,
    secrets: [...task.masked, ...secretsOf(task.spec)],
    startedAt: task.startedAt,
    onSpooled: (bytes) => progress.grown(bytes),
    onFailure: (error) => main.stop(spoolFailure(error)),
  });
  const { timeoutMs } = task.spec;
  const overdue = setTimeout(
    () => main.stop({ reason: 'timeout', why: `the job is over its ${timeoutMs / 60_000} minutes` }),
    Math.min(timeoutMs, 2 ** 31 - 1),
  );
  try {
    const { failure, steps, notes = [], agent } = await parts(task, main, log);
    const deciding = decidingStep(task.spec.steps, steps);
    const outcome = (): RunOutcome =>
      maskedOutcome(
        { ...withNotes(outcomeOf(main.stopped, failure, steps, deciding, start), notes), agent },
        log,
      );
    const { result, reason, detail } = outcome();
    if (failure && failure.reason !== reason) log.say(0, failure.why);
    if (result !== 'passed') log.say(0, `${result}: ${detail}`);
    const logBytes = log.close();
    // Asked again: the last bytes of the log may not have found room.
    return { outcome: outcome(), logBytes };
  } finally {
    clearTimeout(overdue);
    progress.end();
    main.close();
  }
}

async function parts(task: WorkerTask, main: MainThread, log: RunLog): Promise<PartsDone> {
  if (task.spec.source && task.paths.git) {
    const { checkOut } = await import('./checkout/check-out.ts');
    const failure = await checkOut(task, task.spec.source, task.paths.git, main, log);
    if (failure || main.stopped) return { failure, steps: [] };
  }
  if (task.spec.agent) {
    const { runAgent } = await import('./agent/run-agent.ts');
    return await runAgent(task, task.spec.agent, main, log);
  }
  const done = await (task.container
    ? inContainer(task, task.container, main, log)
    : onHost(task, main, log));
  const { failure, steps, notes } = done;
  if (failure) return done;
  // Failed steps too have artifacts: their reports are wanted most of all.
  if (task.spec.artifacts.length === 0 || main.stopped || log.failure) return done;
  const { collectArtifacts } = await import('./artifacts/collect.ts');
  return { failure: await collectArtifacts(task, main, log), steps, notes };
}

async function onHost(task: WorkerTask, main: MainThread, log: RunLog): Promise<PartsDone> {
  return { failure: null, steps: await runSteps(task, main, log, new HostPlace(task, main)) };
}

async function inContainer(
  task: WorkerTask,
  job: JobContainer,
  main: MainThread,
  log: RunLog,
): Promise<PartsDone> {
  const { runInContainer } = await import('./container/run-in-container.ts');
  return await runInContainer(task, job, main, log);
}

/** What is masked: the job's secrets, and a password in the clone URL, as it stands there and as it is. */
function secretsOf(spec: JobSpec): string[] {
  const secrets = Object.values(spec.secrets);
  const password = /^[a-z+]+:\/\/[^/@:]*:([^/@]+)@/i.exec(spec.source?.url ?? '')?.[1];
  if (password === undefined) return secrets;
  try {
    return [...secrets, password, decodeURIComponent(password)];
  } catch {
    return [...secrets, password];
  }
}

function withNotes(outcome: RunOutcome, notes: readonly string[]): RunOutcome {
  if (outcome.result !== 'failed' || notes.length === 0) return outcome;
  return { ...outcome, detail: [outcome.detail, ...notes].join('; ') };
}

/** Cut only when masked: of half a secret the rest would not be found. */
function maskedOutcome(outcome: RunOutcome, log: RunLog): RunOutcome {
  const cut = (text: string): string => log.mask(text).slice(0, 500);
  const steps = outcome.steps.map((step) => ({
    ...step,
    name: log.mask(step.name),
    detail: cut(step.detail),
  }));
  const { agent } = outcome;
  if (!agent) return { ...outcome, detail: cut(outcome.detail), steps };
  const report = log.mask(agent.report);
  const plan = agent.plan && { ...agent.plan, text: log.mask(agent.plan.text) };
  return { ...outcome, detail: cut(outcome.detail), steps, agent: { ...agent, report, plan } };
}

function spoolFailure(error: NodeJS.ErrnoException): PartFailure & Stop {
  const full = error.code === 'ENOSPC' || error.code === 'EDQUOT';
  return { reason: full ? 'disk-full' : 'host', why: `the log cannot be written: ${wholeLine(error)}` };
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
  // Artifacts that cannot be collected after a failed step are not why the run failed.
  if (failure && !(failure.reason === 'artifact' && deciding !== null)) {
    return { result: 'failed', reason: failure.reason, detail: failure.why, steps, durationMs };
  }
  const step = deciding === null ? undefined : steps[deciding];
  if (!step) return { result: 'passed', reason: null, detail: '', steps, durationMs };
  const result = step.result === 'timed-out' ? 'timed-out' : 'failed';
  const detail = `step ${(deciding ?? 0) + 1} (${step.name}): ${step.detail}`;
  return { result, reason: step.reason, detail, steps, durationMs };
}
