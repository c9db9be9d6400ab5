import { setTimeout as delay } from 'node:timers/promises';
import type { Published, PublishRequest } from '../../shared/agent/result.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Settled } from '../../shared/worker-messages.ts';
import type { RunEventHub } from '../queue/run-event-hub.ts';
import { type PublishParts, publishChange, type RunRef } from './publish-change.ts';

export interface Publishing {
  /** What has become of the change by now. The first time begins it; never waits for it. */
  ask(of: RunRef, request: PublishRequest): Promise<Published>;
}

interface PublisherParts extends PublishParts {
  /** The one that the store was opened with. */
  readonly hub: Pick<RunEventHub, 'onChange'>;
  readonly onFault: (error: unknown, where: string) => void;
}

interface Job {
  readonly of: RunRef;
  readonly request: PublishRequest;
  readonly stop: AbortController;
  published: Settled | null;
}

/** With a forge that does not answer, or not as it should, the runner's slot waits no longer than this. */
const GIVE_UP_MS = 5 * 60_000;
const MOST_DELAY_MS = 30_000;

/**
 * Pushes the changes of agent runs and opens their pull requests, of many repositories at once. A job is in
 * memory while its run is: what it must know of a process before it is in the store and on the forge, and
 * the runner asks again.
 *
 * ```
 * asked --> working --pushed, failed--> settled --the run has ended--> forgotten
 *              |  ^--- no answer: again ---+
 *              +--the run is cancelled or not this attempt's any more--> settled
 * ```
 */
export class Publisher implements Publishing {
  readonly #parts: PublisherParts;
  readonly #jobs = new Map<number, Job>();
  readonly #working = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.hub.onChange((run) => {
      const job = this.#jobs.get(run);
      if (job) this.#look(job).catch((error: unknown) => parts.onFault(error, `looking after run ${run}`));
    });
  }

  async ask(of: RunRef, request: PublishRequest): Promise<Published> {
    const known = this.#jobs.get(of.run);
    if (known?.of.attempt === of.attempt) {
      if (known.request.commit !== request.commit)
        return { state: 'failed', why: 'the run has another change that is to be pushed' };
      return known.published ?? { state: 'pending' };
    }
    known?.stop.abort();
    const job: Job = { of, request, stop: new AbortController(), published: null };
    this.#jobs.set(of.run, job);
    const working = this.#work(job).finally(() => this.#working.delete(working));
    this.#working.add(working);
    return { state: 'pending' };
  }

  /** Ends what is in flight; the runner will ask the next process. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#unsubscribe();
    for (const job of this.#jobs.values()) job.stop.abort();
    await Promise.all(this.#working);
  }

  async #work(job: Job): Promise<void> {
    const { run, attempt } = job.of;
    try {
      const kept = await this.#parts.store.agents.changeOf(run, attempt);
      const published = kept?.published ?? (await this.#publish(job));
      if (published !== null) await this.#settle(job, published);
    } catch (error) {
      // the next that asks begins anew
      if (this.#jobs.get(run) === job) this.#jobs.delete(run);
      if (!this.#closing.signal.aborted) this.#parts.onFault(error, `publishing the change of run ${run}`);
    }
  }

  /** Null where the server closes. */
  async #publish(job: Job): Promise<Settled | null> {
    const { signal } = job.stop;
    let failingSince: number | null = null;
    await this.#look(job);
    for (let tries = 1; !signal.aborted; tries++) {
      const end = await this.#attempt(job);
      if (end === null || signal.aborted) break;
      if (end.state !== 'again') return end;
      failingSince ??= performance.now();
      const mostMs = Math.min(GIVE_UP_MS, end.mostMs ?? GIVE_UP_MS);
      if (performance.now() - failingSince > mostMs) return failed(end.why);
      const inMs = Math.min(MOST_DELAY_MS, 1_000 * 2 ** (tries - 1));
      await delay(inMs, undefined, { signal }).catch(() => {});
    }
    return this.#closing.signal.aborted ? null : job.published;
  }

  async #attempt(job: Job): Promise<Awaited<ReturnType<typeof publishChange>> | null> {
    try {
      return await publishChange(this.#parts, job.of, job.request, job.stop.signal);
    } catch (error) {
      if (error instanceof VoleError && error.code === 'interrupted') return null;
      if (error instanceof VoleError) return { state: 'again', why: oneLine(error), mostMs: null };
      throw error;
    }
  }

  async #settle(job: Job, published: Settled): Promise<void> {
    const { run, attempt } = job.of;
    const { agents } = this.#parts.store;
    const kept = await agents.changeOf(run, attempt);
    const { sha, rebased } = kept ?? { sha: job.request.commit, rebased: false };
    await agents.keepChange(run, attempt, { sha, rebased, published });
    job.published = published;
  }

  /** Whether its run still wants it. One that is stopped is answered at once: git may take a moment to end. */
  async #look(job: Job): Promise<void> {
    const { run, attempt } = job.of;
    const now = await this.#parts.store.runs.get(run);
    const runs = now?.state === 'running' && now.attempt === attempt;
    if (runs && now.cancelWhy === null) return;
    if (job.published === null && !this.#closing.signal.aborted)
      job.published = failed('the run was stopped while its change was being pushed');
    job.stop.abort();
    if (!runs && this.#jobs.get(run) === job) this.#jobs.delete(run);
  }
}

function failed(why: string): Settled {
  return { state: 'failed', why: oneLine(why).slice(0, 500) };
}
