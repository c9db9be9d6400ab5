import { Command } from 'commander';
import { VoleError } from '../shared/errors.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole bench`: what this host can do, with the host's own floor measured in the same run. */
export function benchCommand(context: CliContext): Command {
  const command = new Command('bench').description('measure what this host can do');
  command.addCommand(slotsCommand(context));
  return command;
}

function slotsCommand(context: CliContext): Command {
  const command = new Command('slots')
    .description('jobs a second at several --jobs, beside a bare loop of the same command and xargs -P')
    .option('--jobs <N,...>', 'slots to measure, one after the other', '1,2,4')
    .option('--count <N>', 'jobs of each measurement', '200')
    .option('--sleep <MS>', 'what each job does: sleep this long; 0 does nothing', '0')
    .option('--json', 'print JSON');
  withExamples(command, [
    { command: 'vole bench slots', what: 'jobs that do nothing, at 1, 2 and 4 slots' },
    { command: 'vole bench slots --jobs 16 --sleep 100', what: 'jobs that sleep 100 ms, at 16 slots' },
  ]);
  return command.action(async (options: Record<string, string | boolean>) => {
    const jobs = String(options['jobs'])
      .split(',')
      .map((text) => whole('--jobs', text, 1, 256));
    const count = whole('--count', String(options['count']), 1, 100_000);
    const sleepMs = whole('--sleep', String(options['sleep']), 0, 60_000);
    const { benchSlots } = await import('./bench/slots.ts');
    const { slotsTable } = await import('./bench/slots-table.ts');
    const progress = (text: string): void => {
      if (context.interactive) context.stderr(`${text}\n`);
    };
    const result = await benchSlots({ jobs, count, sleepMs }, context.env, progress);
    context.stdout(options['json'] ? `${JSON.stringify(result, null, 2)}\n` : slotsTable(result));
  });
}

function whole(flag: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new VoleError('usage', `${flag}: '${text}' is not allowed; use a whole number from ${min} to ${max}`);
}
