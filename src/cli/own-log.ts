import { fstatSync } from 'node:fs';
import { pino } from 'pino';
import type { Settings } from '../shared/settings/types.ts';
import type { CliContext } from './context.ts';

type LogSettings = Pick<Settings<'server'>, 'logLevel' | 'logFormat'>;

/** vole's own log on standard error, in the format that `--log-format` says. */
export function ownLog({ logLevel, logFormat }: LogSettings, context: CliContext) {
  const asText = logFormat === 'auto' ? context.interactive : logFormat === 'text';
  const withTime = !isJournal(context.env);
  const write = (line: string): void => context.stderr(asText ? textOf(line, withTime) : line);
  return pino({ level: logLevel, base: { pid: process.pid } }, { write });
}

/** Whether what is written to `fd` goes to systemd's journal, which gives each line its time. */
export function isJournal({ JOURNAL_STREAM: stream }: CliContext['env'], fd = 2): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

const HIDDEN = new Set(['level', 'time', 'pid', 'msg']);
const LEVELS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

/** One line for people of one of pino's. */
export function textOf(line: string, withTime: boolean): string {
  const record = JSON.parse(line) as Record<string, unknown> & { level: number; time: number; msg: string };
  const time = withTime ? `${new Date(record.time).toISOString().slice(11, 19)} ` : '';
  const facts = Object.entries(record)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
  const text = `${time}${LEVELS[record.level] ?? record.level} ${record.msg}${facts ? `  ${facts}` : ''}`;
  return `${text.replace(/\p{Cc}/gu, escaped)}\n`;
}

/** What others have named must not look like a line of its own. */
function escaped(control: string): string {
  return JSON.stringify(control)
    .slice(1, -1)
    .replace(/\p{Cc}/gu, '?');
}
