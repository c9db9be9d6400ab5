import { type ApiRun, type ApiRunDetail, type ApiWait, runDetailSchema } from '../../shared/api.ts';
import { plain } from '../../shared/plain-text.ts';
import type { ApiClient } from './api-client.ts';

/** A run that waits so long is asked about: most are leased sooner. */
const SAY_AFTER_MS = 4_000;
/** Between two requests, whichever runs they are about. */
const ASK_EVERY_MS = 4_000;

type Reason = ApiWait['reasons'][number];
type Seen = Pick<ApiRun, 'id' | 'job' | 'state'>;

/**
 * Of why a run waits, what somebody who waits for it should read; null where there is nothing. `othersRun`:
 * they see other runs of its pipeline go on, so that its turn or its needs are no news.
 */
export function worthSaying(reasons: readonly Reason[], othersRun: boolean): string | null {
  const said = reasons.filter(({ code }) => !othersRun || (code !== 'next' && code !== 'needs'));
  return said.length === 0 ? null : said.map(({ text }) => text).join('; ');
}

/** The same for reasons that differ in numbers alone, or in what changes while all goes well. */
export function reasonKey(reasons: readonly Reason[]): string {
  return reasons
    .map(({ code, text }) => `${code} ${PART_OF_KEY[code]?.(text) ?? numberless(text)}`)
    .join('\n');
}

/** Where not the whole text makes the reason another one. */
const PART_OF_KEY: Partial<Record<string, (text: string) => string>> = {
  // its place stands before the comma, behind it what holds it back
  next: (text) => numberless(text.slice(`${text},`.indexOf(','))),
  needs: () => '',
  cap: () => '',
  commands: () => '',
};

/** Amounts lose their unit with their number. */
function numberless(text: string): string {
  return text.replace(/\d+(?:\.\d+)?(?: (?:[KMGT]?i?B|cpus?|runs?|try|tries)\b)?/g, '#');
}

/** Whether this look asks about a run, and about which: the one that was asked about longest ago. */
export function nextToAsk<R extends Seen>(
  runs: readonly R[],
  asked: ReadonlyMap<number, number>,
  {
    firstMs,
    lastMs,
    nowMs,
  }: { readonly firstMs: number; readonly lastMs: number | null; readonly nowMs: number },
): R | null {
  if (nowMs - firstMs < SAY_AFTER_MS || (lastMs !== null && nowMs - lastMs < ASK_EVERY_MS)) return null;
  const waiting = runs.filter(isWaiting);
  const since = ({ id }: R): number => asked.get(id) ?? Number.NEGATIVE_INFINITY;
  return waiting.reduce<R | null>((best, run) => (best && since(best) <= since(run) ? best : run), null);
}

function isWaiting({ state }: Seen): boolean {
  return state === 'queued' || state === 'received';
}

/** Says of runs that are waited for why they do not begin: once, and again where that becomes another reason. */
export class WaitNotices {
  readonly #client: Pick<ApiClient, 'get'>;
  readonly #say: (line: string) => void;
  readonly #asked = new Map<number, number>();
  readonly #said = new Map<number, string>();
  #firstMs: number | null = null;
  #lastMs: number | null = null;
  #isAsking = false;
  #closed = false;

  constructor(client: Pick<ApiClient, 'get'>, say: (line: string) => void) {
    this.#client = client;
    this.#say = say;
  }

  /**
   * To be called at each look at the runs, with what they are now: asks about one at most, and seldom. Gives
   * what it was told, null where it did not ask. Never rejects: a server that is away is the caller's matter.
   */
  async look(runs: readonly Seen[], nowMs = performance.now()): Promise<ApiRunDetail | null> {
    this.#firstMs ??= nowMs;
    const times = { firstMs: this.#firstMs, lastMs: this.#lastMs, nowMs };
    const run = this.#isAsking || this.#closed ? null : nextToAsk(runs, this.#asked, times);
    if (run === null) return null;
    this.#lastMs = nowMs;
    this.#asked.set(run.id, nowMs);
    this.#isAsking = true;
    try {
      const told = await this.#client.get(`/api/runs/${run.id}`, runDetailSchema);
      this.#tell(
        told,
        runs.some(({ state }) => state === 'running'),
      );
      return told;
    } catch {
      return null;
    } finally {
      this.#isAsking = false;
    }
  }

  /** Nothing is said any more. */
  close(): void {
    this.#closed = true;
  }

  #tell(run: ApiRunDetail, othersRun: boolean): void {
    const text = run.wait && worthSaying(run.wait.reasons, othersRun);
    if (this.#closed || run.wait === null || text === null) return;
    const key = reasonKey(run.wait.reasons);
    if (this.#said.get(run.id) === key) return;
    this.#said.set(run.id, key);
    this.#say(`vole: run ${run.id} (${plain(run.job)}) waits: ${plain(text)}\n`);
  }
}
