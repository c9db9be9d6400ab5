import { setTimeout as delay } from 'node:timers/promises';
import { type ApiPipeline, type ApiRun, pipelineSchema } from '../../shared/api.ts';
import { VoleError } from '../../shared/errors.ts';
import { isFinal } from '../../shared/outcome.ts';
import { plain } from '../../shared/plain-text.ts';
import type { CliContext } from '../context.ts';
import type { ApiClient } from './api-client.ts';
import { followRun } from './follow.ts';
import { LogPrinter } from './log-printer.ts';

/** Between two looks: a small pipeline is cheap to look at, and its end should not be waited for. */
const LOOK_MS = { few: 150, many: 1_000 };
const FEW_RUNS = 50;
const RETRY_MS = 500;
/** How long the server may be away while we wait. */
const AWAY_MS = 60_000;
const NEVER = new AbortController().signal;

/**
 * Waits until every run of a pipeline has ended and prints their logs as they come, each line behind its
 * job's name. Only what runs is followed, so a pipeline of a thousand jobs holds few connections. Once
 * `signal` is aborted a server that is away is not waited for. `onLook` gets the runs at each look at them.
 */
export async function waitForPipeline(
  client: ApiClient,
  pipeline: ApiPipeline,
  context: CliContext,
  quiet: boolean,
  signal: AbortSignal = NEVER,
  onLook: (runs: readonly ApiRun[]) => void = () => {},
): Promise<ApiPipeline> {
  const width = Math.min(30, Math.max(...pipeline.runs.map((run) => run.job.length)));
  const followers = new Map<number, Promise<unknown>>();
  const failed = new AbortController();
  let failure: unknown = null;
  const start = (run: ApiRun): Promise<unknown> =>
    printRun(client, run, width, context, signal).catch((error: unknown) => {
      failure = error;
      failed.abort();
    });
  for (;;) {
    const now = await look(client, pipeline.id, signal);
    onLook(now.runs);
    for (const run of now.runs) {
      const begun = run.state === 'running' || isFinal(run.state);
      if (!quiet && begun && run.attempt > 0 && !followers.has(run.id)) followers.set(run.id, start(run));
    }
    if (now.runs.every((run) => isFinal(run.state))) {
      await Promise.all(followers.values());
      if (failure !== null) throw failure;
      return now;
    }
    await delay(now.runs.length <= FEW_RUNS ? LOOK_MS.few : LOOK_MS.many, undefined, {
      signal: failed.signal,
    }).catch(() => {});
    if (failure !== null) throw failure;
  }
}

async function look(client: ApiClient, id: number, signal: AbortSignal): Promise<ApiPipeline> {
  const since = performance.now();
  for (;;) {
    try {
      return await client.get(`/api/pipelines/${id}`, pipelineSchema);
    } catch (error) {
      const away = error instanceof VoleError && error.code === 'server-unreachable';
      if (!away || signal.aborted || performance.now() - since > AWAY_MS) throw error;
      await delay(RETRY_MS);
    }
  }
}

async function printRun(
  client: ApiClient,
  run: ApiRun,
  width: number,
  context: CliContext,
  signal: AbortSignal,
): Promise<void> {
  const prefix = `${plain(run.job).slice(0, width).padEnd(width)} | `;
  const options = {
    step: null,
    stamps: false,
    raw: false,
    json: false,
    prefix,
    terminal: context.interactive,
  };
  const lines = new WholeLines();
  let printer = new LogPrinter(options);
  const print = (text: string) => context.write(Buffer.from(text));
  await followRun({
    client,
    run: run.id,
    attempt: null,
    signal,
    onBytes: (bytes) => print(lines.push(printer.push(bytes))),
    onNextAttempt: async (attempt) => {
      await print(lines.push(printer.end()) + lines.end());
      printer = new LogPrinter(options);
      await print(`${prefix}(queued again: attempt ${attempt} follows)\n`);
    },
  });
  await print(lines.push(printer.end()) + lines.end());
}

/** Holds back what has no newline yet, up to a bound, so that runs do not write into each other's lines. */
class WholeLines {
  #rest = '';

  push(text: string): string {
    const all = this.#rest + text;
    const end = all.lastIndexOf('\n') + 1;
    this.#rest = all.slice(end);
    if (this.#rest.length <= 128 * 1024) return all.slice(0, end);
    this.#rest = '';
    return `${all}\n`;
  }

  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' ? '' : `${rest}\n`;
  }
}
