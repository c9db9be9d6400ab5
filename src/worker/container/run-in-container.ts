import { imageWords, type JobContainer } from '../../shared/engine/job-container.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartsDone } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { decidingStep, runSteps } from '../steps/run-steps.ts';
import { RunContainer } from './container.ts';
import { ContainerPlace } from './container-place.ts';
import { Services } from './services.ts';

/** Runs the steps in a container of the job's image, with its services beside it where it has some. */
export async function runInContainer(
  task: WorkerTask,
  job: JobContainer,
  main: MainThread,
  log: RunLog,
): Promise<PartsDone> {
  const services = task.spec.services.length > 0 ? new Services(task, job, main, log) : null;
  log.say(0, `container of ${imageWords(job.image)}`);
  let container: RunContainer | null = null;
  try {
    const unconnected = (await services?.makeNetwork()) ?? null;
    if (unconnected || main.stopped) return { failure: unconnected, steps: [] };
    const [started, unserved] = await Promise.all([
      RunContainer.start(task, job, main, log, services?.network.name ?? null).then((own) => {
        if (!own.ok) services?.giveUp(own.failure);
        return own;
      }),
      services?.start() ?? null,
    ]);
    if (started.ok) container = started.container;
    const failure = started.ok ? unserved : started.failure;
    if (failure || !container) return { failure, steps: [] };
    const steps = await runSteps(task, main, log, new ContainerPlace(task, container));
    const failed = decidingStep(task.spec.steps, steps) !== null;
    return { failure: null, steps, notes: failed ? await services?.ended() : [] };
  } finally {
    // The main thread removes what was made, behind the report.
    services?.stopWatching();
    await container?.handBack();
  }
}
