/**
 * The log's line format, in the spool, on the wire and on the server's disk:
 * `<ms since start> <step> <stream> <text>\n`. `stream` is `o` (stdout), `e` (stderr), `v` (vole's
 * own), each in upper case where the record continues in the next record of the same stream (a line
 * over 64 KiB, cut). `text` holds no newline and no carriage return before it. Steps count from 1;
 * 0 is what is before the first and after the last.
 */
export interface LogRecord {
  readonly ms: number;
  readonly step: number;
  readonly stream: 'o' | 'e' | 'v';
  readonly continues: boolean;
  readonly text: string;
}

export function formatRecord(record: LogRecord): string {
  const stream = record.continues ? record.stream.toUpperCase() : record.stream;
  return `${record.ms} ${record.step} ${stream} ${record.text}\n`;
}

/** Parses one record without its newline; null where the line is no record. */
export function parseRecord(line: string): LogRecord | null {
  const match = /^(\d+) (\d+) ([oevOEV]) ([\s\S]*)$/.exec(line);
  if (!match) return null;
  const [, ms = '', step = '', letter = '', text = ''] = match;
  const stream = letter.toLowerCase() as LogRecord['stream'];
  return { ms: Number(ms), step: Number(step), stream, continues: letter !== stream, text };
}
