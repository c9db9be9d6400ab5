import { Command } from 'commander';
import { runDetailSchema } from '../shared/api.ts';
import { VoleError } from '../shared/errors.ts';
import { isFinal } from '../shared/outcome.ts';
import { plain } from '../shared/plain-text.ts';
import type { ApiClient } from './client/api-client.ts';
import { addClientOptions, clientOf, type Options, runId } from './client/client-command.ts';
import { followRun } from './client/follow.ts';
import { FollowedWait } from './client/followed-wait.ts';
import { type Frame, frameFor } from './client/log-frame.ts';
import { LogPrinter, type PrintOptions } from './client/log-printer.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { whyLines } from './why.ts';

/** `vole logs`: a run's log, whole or as it comes. */
export function logsCommand(context: CliContext): Command {
  const command = new Command('logs')
    .description("print a run's log")
    .argument('<run>')
    .option('-f, --follow', 'go on until the run has ended, over restarts of the server too')
    .option('--step <n>', 'only of this step, from 1; 0 is what vole did before the first and after the last')
    .option('--attempt <n>', 'of this attempt; the latest by default')
    .option(
      '--stamps',
      'two columns before each line: seconds since the start of the attempt, and the number of the step',
    )
    .option('--raw', 'the records as the server has them: milliseconds, step, stream, text');
  withExamples(addClientOptions(command, 'one JSON object a line: ms, step, stream, text, continues'), [
    { command: 'vole logs 12 --data /var/lib/vole-server', what: 'the log of run 12' },
    { command: 'vole logs 12 -f --stamps', what: 'follow it' },
  ]);
  return command.action(async (text: string, options: Options) => {
    const id = runId(text);
    const attempt = count('--attempt', options['attempt']);
    const print: PrintOptions = {
      step: count('--step', options['step']),
      stamps: Boolean(options['stamps']),
      raw: Boolean(options['raw']),
      json: Boolean(options['json']),
      prefix: '',
      terminal: context.interactive,
    };
    if (print.raw && print.json) throw new VoleError('usage', 'give --raw or --json, not both');
    const client = clientOf(options, context);
    await checkThere(client, id, attempt, print.step);
    const frame = print.raw || print.json ? null : frameFor(client, id, context);
    if (options['follow']) await follow(client, id, attempt, print, frame, context);
    else await printOnce(client, id, attempt, print, frame, context);
  });
}

/** An attempt that may still come is waited for by `--follow` alone, and a step is known once its attempt ended. */
async function checkThere(
  client: ApiClient,
  id: number,
  attempt: number | null,
  step: number | null,
): Promise<void> {
  if (attempt === null && step === null) return;
  const run = await client.get(`/api/runs/${id}`, runDetailSchema);
  if (attempt !== null && attempt > run.attempt && isFinal(run.state))
    throw new VoleError('not-found', `run ${id} has no attempt ${attempt}: it had ${run.attempt}`);
  const { length } = run.steps;
  const ofLatest = attempt === null || attempt === run.attempt;
  if (ofLatest && step !== null && length > 0 && step > length)
    throw new VoleError('not-found', `run ${id} has no step ${step}: it has ${length}`);
}

async function printOnce(
  client: ApiClient,
  id: number,
  attempt: number | null,
  print: PrintOptions,
  frame: Frame | null,
  context: CliContext,
): Promise<void> {
  const query = attempt === null ? '' : `?attempt=${attempt}`;
  const printer = new LogPrinter(print);
  const reply = await client.stream(`/api/runs/${id}/log${query}`);
  let bytes = 0;
  try {
    for await (const part of reply) {
      if (bytes === 0) await frame?.above(attempt);
      bytes += (part as Buffer).length;
      await context.write(Buffer.from(printer.push(part as Buffer)));
    }
  } catch (error) {
    throw new VoleError('server-unreachable', 'the connection broke: this is not all of the log', {
      cause: error,
    });
  }
  await context.write(Buffer.from(printer.end()));
  if (bytes === 0) return await sayWhyEmpty(client, id, context);
  if (frame === null) return;
  const run = await client.get(`/api/runs/${id}`, runDetailSchema);
  if (attempt === null || attempt === run.attempt) frame.below(run);
}

/** Else somebody would look at nothing, and think that the log is lost. */
async function sayWhyEmpty(client: ApiClient, id: number, context: CliContext): Promise<void> {
  const run = await client.get(`/api/runs/${id}`, runDetailSchema);
  const [what] = whyLines(run);
  const more = isFinal(run.state) || run.state === 'running' ? '' : `; \`vole why ${id}\` says why`;
  context.stderr(`vole: no log: ${plain(what ?? '')}${more}\n`);
}

async function follow(
  client: ApiClient,
  id: number,
  attempt: number | null,
  print: PrintOptions,
  frame: Frame | null,
  context: CliContext,
): Promise<void> {
  let shown = attempt;
  let isBegun = false;
  let printer = new LogPrinter(print);
  const waiting = await client.get(`/api/runs/${id}`, runDetailSchema);
  if (!isFinal(waiting.state) && waiting.state !== 'running')
    context.stderr(`vole: run ${id} is ${waiting.state}; \`vole why ${id}\` says why\n`);
  const notices = new FollowedWait(client, waiting, context);
  const run = await followRun({
    client,
    run: id,
    attempt,
    onBytes: async (bytes) => {
      notices.runIs('running');
      if (!isBegun) await frame?.above(shown);
      isBegun = true;
      await context.write(Buffer.from(printer.push(bytes)));
    },
    onNextAttempt: async (next) => {
      await context.write(Buffer.from(printer.end()));
      printer = new LogPrinter(print);
      context.stderr(`vole: run ${id} was queued again; attempt ${next} follows\n`);
      notices.runIs('queued');
      shown = next;
      isBegun = false;
    },
  }).finally(() => notices.close());
  await context.write(Buffer.from(printer.end()));
  if (frame) return frame.below(run);
  context.stderr(`vole: run ${id} ${run.state}${run.detail === '' ? '' : `: ${run.detail}`}\n`);
}

function count(flag: string, text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const least = flag === '--step' ? 0 : 1;
  if (!/^\d{1,9}$/.test(text) || Number(text) < least)
    throw new VoleError('usage', `${flag}: '${text}' is not allowed; use a number from ${least}`);
  return Number(text);
}
