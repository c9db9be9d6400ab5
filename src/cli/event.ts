import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { type ApiEvent, eventListSchema, replayedSchema } from '../shared/api-events.ts';
import { repositoryNameSchema } from '../shared/api-names.ts';
import { oneLine, VoleError } from '../shared/errors.ts';
import { age } from '../shared/plain-text.ts';
import { addClientOptions, argument, clientOf, type Options, printJson } from './client/client-command.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { savedDelivery } from './event/saved-delivery.ts';
import { withExamples } from './help.ts';

/** As large as the server takes a delivery, with some headers above it. */
const MOST_BYTES = 25 * 1024 * 1024 + 64 * 1024;

/** `vole event`: what forges delivered. */
export function eventCommand(context: CliContext): Command {
  const command = new Command('event').description('see what forges delivered, and deliver it by hand');
  command.addCommand(listEvents(context), { isDefault: true });
  command.addCommand(replayEvent(context));
  return command;
}

function listEvents(context: CliContext): Command {
  const command = new Command('ls')
    .description('list the events that were received, the latest first, with what came of each')
    .option('--repository <owner/name>', 'only of this one')
    .option('--pending', 'only those that nothing came of yet')
    .option('--limit <n>', 'how many (1 to 1000, default 20)');
  withExamples(addClientOptions(command), [
    { command: 'vole event ls --data /var/lib/vole-server', what: 'why a push has no pipeline' },
  ]);
  return command.action(async (options: Options) => {
    const query = new URLSearchParams({ limit: limitOf(options), pending: options['pending'] ? '1' : '0' });
    if (options['repository'] !== undefined)
      query.set('repository', argument('--repository', repositoryNameSchema, options['repository']));
    const reply = await clientOf(options, context).get(`/api/events?${query.toString()}`, eventListSchema);
    if (options['json']) return printJson(context, reply);
    const now = Date.now();
    const rows = reply.events.map((event) => rowOf(event, now));
    context.stdout(table(['EVENT', 'REPOSITORY', 'KIND', 'ABOUT', 'RECEIVED', 'RESULT'], rows));
  });
}

function replayEvent(context: CliContext): Command {
  const command = new Command('replay')
    .description(
      "feed a saved delivery, as if the repository's forge had sent it now; one that was received before changes nothing",
    )
    .argument('<file>', "the delivery's JSON body, with or without its headers and an empty line above it")
    .option('--repository <owner/name>', 'which one; by default what the body names')
    .option('--event <name>', "the forge's name of the event; by default from the headers or the body");
  withExamples(addClientOptions(command), [
    {
      command: 'vole event replay push.json --data /var/lib/vole-server',
      what: "feed what was copied from the forge's page of the webhook",
    },
  ]);
  return command.action(async (file: string, options: Options) => {
    const saved = savedDelivery(await bytesOf(file, context));
    const { repository = saved.project, event = saved.event } = options;
    if (repository === null)
      throw new VoleError(
        'usage',
        `${file} names no repository: give --repository, or a delivery's JSON body`,
      );
    const query = new URLSearchParams({
      repository: argument('repository', repositoryNameSchema, repository),
      delivery: saved.delivery ?? `replay-${randomUUID()}`,
    });
    if (typeof event === 'string') query.set('event', event);
    const body = { type: 'application/json', bytes: saved.body };
    const path = `/api/events?${query.toString()}`;
    const reply = await clientOf(options, context).send('POST', path, body, replayedSchema);
    if (options['json']) return printJson(context, reply);
    context.stdout(`${reply.text}\n`);
  });
}

async function bytesOf(file: string, context: CliContext): Promise<Buffer> {
  const full = path.resolve(context.cwd, file);
  try {
    const { size } = await stat(full);
    if (size > MOST_BYTES) throw new VoleError('usage', `${file} is over 25 MiB`);
    return await readFile(full);
  } catch (error) {
    if (error instanceof VoleError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new VoleError('not-found', `there is no file ${file}`);
    throw new VoleError('io-error', `${file} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}

function limitOf(options: Options): string {
  const text = options['limit'];
  if (typeof text !== 'string') return '20';
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > 1000)
    throw new VoleError('usage', `--limit: '${text}' is not allowed; use a number from 1 to 1000`);
  return text;
}

function rowOf(event: ApiEvent, now: number): string[] {
  const { id, repository, kind, about, receivedAtMs, pending, result, pipeline } = event;
  const came = pipeline === null ? result : `${result}: pipeline ${pipeline}`;
  return [String(id), repository, kind, about, age(receivedAtMs, now), pending ? 'waits' : came];
}
