import type { StepSpec } from '../../shared/job-spec.ts';
import type { StepOutcome } from '../../shared/outcome.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { MainThread } from '../port.ts';
import type { Place } from './place.ts';
import { scriptLines } from './script-lines.ts';
import { SpawnerClient } from './spawner-client.ts';
import { runStep } from './step.ts';
import { skipped } from './step-result.ts';

/** Whether a step runs, from how those before it ended. After a stop of the whole run none does. */
export function shouldRun(when: StepSpec['if'], failed: boolean, stopped: boolean): boolean {
  if (stopped) return false;
  switch (when) {
    case 'always':
      return true;
    case 'failure':
      return failed;
    case 'success':
      return !failed;
    default:
      return when satisfies never;
  }
}

/** Runs the steps in order; gives each one's outcome, the skipped ones' too. */
export async function runSteps(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  place: Place,
): Promise<StepOutcome[]> {
  const spawner = spawnerAt(task.spawner);
  spawner?.use();
  try {
    return await inOrder(task, main, log, spawner, place);
  } finally {
    spawner?.unuse();
  }
}

/** A thread keeps its connection from run to run. */
let kept: { socket: string; client: SpawnerClient } | null = null;

function spawnerAt(socket: string | null): SpawnerClient | null {
  if (socket === null) return null;
  if (kept?.socket !== socket || kept.client.closed) {
    kept?.client.close();
    kept = { socket, client: new SpawnerClient(socket) };
  }
  return kept.client;
}

async function inOrder(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  spawner: SpawnerClient | null,
  place: Place,
): Promise<StepOutcome[]> {
  const outcomes: StepOutcome[] = [];
  let failed = false;
  for (const [index, step] of task.spec.steps.entries()) {
    const number = index + 1;
    if (log.failure || !shouldRun(step.if, failed, main.stopped !== null)) {
      outcomes.push(skipped(step.name));
      continue;
    }
    // Masked before it is cut: half a secret is not found.
    const [name, run] = [log.mask(step.name), log.mask(step.run)];
    log.say(number, [`step ${number}: ${name}`, ...scriptLines({ name, run })].join('\n'));
    const outcome = await runStep(task, main, log, spawner, place, step, number);
    outcomes.push(outcome);
    if (outcome.result === 'passed') continue;
    const tolerated = step.continueOnError ? ', and the job goes on' : '';
    log.say(number, `step ${number} ${outcome.result}: ${outcome.detail}${tolerated}`);
    if (!step.continueOnError) failed = true;
  }
  return outcomes;
}

/** The first step that decides how the run ended, or null where all is well. */
export function decidingStep(steps: readonly StepSpec[], outcomes: readonly StepOutcome[]): number | null {
  const index = outcomes.findIndex(
    (outcome, i) => outcome.result !== 'passed' && outcome.result !== 'skipped' && !steps[i]?.continueOnError,
  );
  return index < 0 ? null : index;
}
