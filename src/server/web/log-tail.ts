import { type LogRecord, parseRecord } from '../../shared/log-record.ts';
import type { LogFiles } from '../logs/log-files.ts';

const TAIL_BYTES = 192 * 1024;
const TAIL_RECORDS = 1000;

export interface LogTail {
  readonly attempt: number;
  readonly records: readonly LogRecord[];
  /** Bytes before the first record shown. */
  readonly skippedBytes: number;
  /** Behind the last whole record shown. */
  readonly nextOffset: number;
}

/** The last records of a log. What stands before the first line end is half a record, unless it is all. */
export async function readTail(
  logs: Pick<LogFiles, 'length' | 'read'>,
  run: number,
  attempt: number,
): Promise<LogTail> {
  const length = await logs.length(run, attempt);
  const start = Math.max(0, length - TAIL_BYTES);
  const bytes = length > start ? await logs.read(run, attempt, start, length - start) : Buffer.alloc(0);
  return tailOf(bytes, start, attempt);
}

export function tailOf(bytes: Buffer, start: number, attempt: number): LogTail {
  const newline = 0x0a;
  const end = bytes.lastIndexOf(newline) + 1;
  let from = start === 0 ? 0 : bytes.indexOf(newline) + 1;
  const lines: Buffer[] = [];
  for (let at = from; at < end; ) {
    const next = bytes.indexOf(newline, at) + 1;
    lines.push(bytes.subarray(at, next - 1));
    at = next;
  }
  for (const dropped of lines.splice(0, Math.max(0, lines.length - TAIL_RECORDS))) from += dropped.length + 1;
  const records = lines.map((line) => parseRecord(line.toString('utf8')));
  return {
    attempt,
    records: records.filter((record) => record !== null),
    skippedBytes: start + from,
    nextOffset: start + Math.max(from, end),
  };
}
