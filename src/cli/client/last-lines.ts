import { StringDecoder } from 'node:string_decoder';
import type { ApiRun } from '../../shared/api.ts';
import { type LogRecord, parseRecord } from '../../shared/log-record.ts';
import { plain } from '../../shared/plain-text.ts';
import type { ApiClient } from './api-client.ts';
import { colouredOnly } from './log-printer.ts';
import { cut } from './table.ts';

const LINES = 10;
const LINE_LIMIT = 300;
/** What holds the last lines of most steps. */
const TAIL_BYTES = 128 * 1024;
/** What vole says of the steps and of the end, which is told otherwise. */
const OWN = /^step \d+(?:: | (?:failed|timed-out|cancelled): )|^(?:failed|timed-out|cancelled): /;

export interface LastLines {
  /** Fit for a terminal, at most 10 of 300 characters. */
  readonly lines: readonly string[];
  /** When the last record of the attempt was written, after its start; null where it has none. */
  readonly endMs: number | null;
}

/** Keeps the last lines of one step, or of all where it is null, from a log's bytes, cut anywhere. */
export class LastLinesOf {
  readonly #step: number | null;
  readonly #decoder = new StringDecoder('utf8');
  readonly #lines: string[] = [];
  /** Streams and steps whose line goes on: only its beginning is kept. */
  readonly #open = new Set<string>();
  #carry = '';
  #endMs: number | null = null;

  constructor(step: number | null) {
    this.#step = step;
  }

  push(bytes: Buffer): void {
    const lines = (this.#carry + this.#decoder.write(bytes)).split('\n');
    this.#carry = lines.pop() ?? '';
    for (const line of lines) {
      const record = parseRecord(line);
      if (record) this.#take(record);
    }
  }

  get last(): LastLines {
    return { lines: this.#lines.map(shown), endMs: this.#endMs };
  }

  #take({ ms, step, stream, text, continues }: LogRecord): void {
    this.#endMs = ms;
    const name = `${stream}${step}`;
    const goesOn = this.#open.has(name);
    if (continues) this.#open.add(name);
    else this.#open.delete(name);
    if (goesOn || (this.#step !== null && step !== this.#step)) return;
    if (stream === 'v' && OWN.test(text)) return;
    this.#lines.push(text);
    if (this.#lines.length > LINES) this.#lines.shift();
  }
}

function shown(line: string): string {
  return cut(plain(colouredOnly(line)), LINE_LIMIT);
}

/** Of the run's latest attempt. Reads all of its log only where the step's lines are not at its end. */
export async function lastLines(
  client: Pick<ApiClient, 'stream'>,
  { id, logBytes }: Pick<ApiRun, 'id' | 'logBytes'>,
  step: number | null,
): Promise<LastLines> {
  const offset = Math.max(0, logBytes - TAIL_BYTES);
  const last = await read(client, id, offset, step);
  return last.lines.length > 0 || offset === 0 ? last : await read(client, id, 0, step);
}

async function read(
  client: Pick<ApiClient, 'stream'>,
  run: number,
  offset: number,
  step: number | null,
): Promise<LastLines> {
  const kept = new LastLinesOf(step);
  for await (const part of await client.stream(`/api/runs/${run}/log?offset=${offset}`))
    kept.push(part as Buffer);
  return kept.last;
}
