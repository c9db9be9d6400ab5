import { oneLine } from '../../shared/errors.ts';
import { isImageFile } from '../../shared/image-file.ts';
import { isImageName, mayBeBuiltHere } from '../../shared/image-name.ts';
import type { JobSpec } from '../../shared/job-spec.ts';
import type { Reason, RunOutcome } from '../../shared/outcome.ts';
import { serviceFaults } from '../../shared/service-faults.ts';
import type { TaskEnd } from '../pool/pool.ts';

export type StopReason = 'cancelled' | 'timeout' | 'interrupted';
export interface Stop {
  readonly reason: StopReason;
  readonly why: string;
}

const RESULT_OF_STOP = {
  cancelled: 'cancelled',
  timeout: 'timed-out',
  interrupted: 'interrupted',
} as const satisfies Record<StopReason, RunOutcome['result']>;

function outcome(
  result: RunOutcome['result'],
  reason: Reason | null,
  detail: string,
  durationMs = 0,
): RunOutcome {
  return { result, reason, detail: detail.slice(0, 500), steps: [], durationMs };
}

/** What ends this run alone, before anything of it is executed; null where it may run here. */
export function notAllowed(
  spec: Pick<JobSpec, 'image' | 'imageFile' | 'services' | 'trust'>,
  hostJobs: 'never' | 'trusted' | 'always',
  hasEngine: boolean,
): RunOutcome | null {
  const { image, imageFile, trust } = spec;
  const fault = imageFault(image, imageFile) ?? serviceFaults(spec)[0]?.why ?? null;
  if (fault !== null) return outcome('refused', 'not-allowed', fault);
  if (image !== null || imageFile !== null) {
    if (hasEngine) return null;
    const wanted = image === null ? `image-file ${imageFile}` : `image ${image}`;
    return outcome('refused', 'not-allowed', `${wanted}: this runner has no container engine (--engine)`);
  }
  if (hostJobs === 'always' || (hostJobs === 'trusted' && trust === 'trusted')) return null;
  const why =
    hostJobs === 'never'
      ? 'this runner takes no jobs on the host (--host-jobs never): give the job an image'
      : 'an untrusted run may not execute on the host: give the job an image (--host-jobs trusted)';
  return outcome('refused', 'not-allowed', why);
}

/** The server has checked it too; a runner does not rely on that. */
function imageFault(image: string | null, imageFile: string | null): string | null {
  if (imageFile !== null && (image !== null || !isImageFile(imageFile))) {
    return `image-file ${JSON.stringify(imageFile.slice(0, 100))} is no file within the checkout`;
  }
  if (image === null) return null;
  const shown = JSON.stringify(image.slice(0, 100));
  if (!isImageName(image)) return `image ${shown} is no image's name`;
  return mayBeBuiltHere(image)
    ? `image ${shown} may be another repository's: expected a name with a tag`
    : null;
}

/** The host could not prepare the job, or the run was stopped while it tried. */
export function unprepared(error: unknown, stop: Stop | null): RunOutcome {
  if (stop) return outcome(RESULT_OF_STOP[stop.reason], stop.reason, stop.why);
  const full =
    (error as NodeJS.ErrnoException).code === 'ENOSPC' || /ENOSPC|no space left/i.test(oneLine(error));
  const detail = `the runner could not prepare the job: ${oneLine(error)}`;
  return outcome('failed', full ? 'disk-full' : 'host', detail);
}

/** What the record says, from how the task ended and whether we ended it. */
export function outcomeOfEnd(end: TaskEnd, stop: Stop | null, durationMs: number): RunOutcome {
  if (end.type === 'result') return end.result.outcome;
  if (stop) {
    const detail = `${stop.why}; its worker thread did not answer and was ended`;
    return outcome(RESULT_OF_STOP[stop.reason], stop.reason, detail, durationMs);
  }
  return outcome('failed', 'worker-died', `the worker thread ended: ${end.why}`, durationMs);
}

/** Its steps have ended, and it was stopped before its artifacts were all sent. */
export function stoppedLate(ended: RunOutcome, stop: Stop): RunOutcome {
  if (ended.result !== 'passed') return ended;
  const detail = `${stop.why}; its steps had passed and its artifacts were being sent`.slice(0, 500);
  return { ...ended, result: RESULT_OF_STOP[stop.reason], reason: stop.reason, detail };
}

/** Of a run that was leased and never begun: it is queued again, and not counted as lost. */
export function givenBack(why: string): RunOutcome {
  return { result: 'interrupted', reason: 'interrupted', detail: why, steps: [], durationMs: 0 };
}
