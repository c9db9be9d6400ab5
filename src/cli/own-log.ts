import { pino } from 'pino';
import type { CliContext } from './context.ts';

/** vole's own log on standard error: JSON lines for programs, short lines on a terminal. */
export function ownLog(level: 'debug' | 'info' | 'warn' | 'error', context: CliContext) {
  const write = (line: string): void => context.stderr(context.interactive ? forPeople(line) : line);
  return pino({ level, base: { pid: process.pid } }, { write });
}

const HIDDEN = new Set(['level', 'time', 'pid', 'msg']);
const LEVELS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

function forPeople(line: string): string {
  const record = JSON.parse(line) as Record<string, unknown> & { level: number; time: number; msg: string };
  const time = new Date(record.time).toISOString().slice(11, 19);
  const facts = Object.entries(record)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
  return `${time} ${LEVELS[record.level] ?? record.level} ${record.msg}${facts ? `  ${facts}` : ''}\n`;
}
