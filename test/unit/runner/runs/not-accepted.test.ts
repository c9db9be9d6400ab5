import { expect, it } from 'vitest';
import { type JobRoom, RunInFlight, type RunServices } from '../../../../src/runner/runs/run-in-flight.ts';
import type { SessionLink } from '../../../../src/runner/slots/session-link.ts';
import { type JobSpec, jobSpecSchema } from '../../../../src/shared/job-spec.ts';

const SPEC = jobSpecSchema.parse({
  run: 1,
  attempt: 1,
  pipeline: 1,
  repository: 'team/app',
  trust: 'trusted',
  job: 'test',
  source: null,
  steps: [{ kind: 'run', name: 'a', run: 'true' }],
  timeoutMs: 1000,
});

/** A run whose room is made by the test, and what became of the room. */
function runWith(makeRoom: (signal: AbortSignal) => Promise<void>, spec: JobSpec = SPEC) {
  const done: string[] = [];
  const room: Pick<JobRoom, 'releaseCache' | 'leave'> = {
    releaseCache: ({ joined }) => void done.push(`released ${joined}`),
    leave: ({ reported }) => void done.push(reported ? 'disposed' : 'kept'),
  };
  const services: Pick<RunServices, 'makeRoom' | 'hostJobs' | 'engine'> = {
    hostJobs: 'trusted',
    engine: null,
    makeRoom: async (_, signal) => {
      done.push('begun');
      await makeRoom(signal);
      done.push('made');
      return room as JobRoom;
    },
  };
  return { run: new RunInFlight(services as RunServices, spec, {} as SessionLink), done };
}

it('a run that is not accepted gives up the room that was made for it meanwhile', async () => {
  const { run, done } = runWith(async () => {});
  run.prepare();
  await run.giveUp();
  expect(done).toEqual(['begun', 'made', 'released false', 'disposed']);
});

it('waits for its room no longer, and leaves nothing', async () => {
  const { run, done } = runWith(
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('x')))),
  );
  run.prepare();
  await run.giveUp();
  expect(done).toEqual(['begun']);
});

it('makes none before it is accepted where it may not run here, or an image comes first', async () => {
  for (const change of [{ trust: 'untrusted' }, { image: 'x' }, { imageFile: 'Dockerfile' }] as const) {
    const { run, done } = runWith(async () => {}, { ...SPEC, ...change });
    run.prepare();
    await run.giveUp();
    expect(done).toEqual([]);
  }
});
