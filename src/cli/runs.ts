import { Command } from 'commander';
import { type ApiRun, runListSchema } from '../shared/api.ts';
import { repositoryNameSchema } from '../shared/api-names.ts';
import { VoleError } from '../shared/errors.ts';
import { RUN_STATES } from '../shared/outcome.ts';
import { age, shortRef } from '../shared/plain-text.ts';
import { formatDuration } from '../shared/units.ts';
import { addClientOptions, argument, clientOf, type Options, printJson } from './client/client-command.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole runs`: the latest runs. */
export function runsCommand(context: CliContext): Command {
  const command = new Command('runs')
    .description('list runs, the latest first')
    .option('--repository <owner/name>', 'only of this one')
    .option('--state <state,...>', `only in these: ${RUN_STATES.join(', ')}`)
    .option('--limit <n>', 'how many (1 to 1000, default 20)')
    .option('--before <run>', 'only runs older than this one');
  withExamples(addClientOptions(command), [
    { command: 'vole runs --data /var/lib/vole-server', what: 'the latest runs' },
    { command: 'vole runs --state queued,running --json', what: 'what is going on, for a program' },
  ]);
  return command.action(async (options: Options) => {
    const query = queryOf(options);
    const client = clientOf(options, context);
    const reply = await client.get(`/api/runs?${query.toString()}`, runListSchema);
    if (options['json']) return printJson(context, reply);
    context.stdout(runsTable(reply.runs, Date.now()));
  });
}

function queryOf(options: Options): URLSearchParams {
  const { repository, state, limit, before } = options;
  const query = new URLSearchParams({ limit: number('--limit', limit, 1000) ?? '20' });
  if (typeof repository === 'string')
    query.set('repository', argument('--repository', repositoryNameSchema, repository));
  if (typeof state === 'string') {
    const wrong = state.split(',').find((word) => !(RUN_STATES as readonly string[]).includes(word));
    if (wrong !== undefined)
      throw new VoleError('usage', `--state: '${wrong}' is not allowed; use ${RUN_STATES.join(', ')}`);
    query.set('state', state);
  }
  const older = number('--before', before, Number.MAX_SAFE_INTEGER);
  if (older !== null) query.set('before', older);
  return query;
}

function number(flag: string, text: unknown, most: number): string | null {
  if (typeof text !== 'string') return null;
  if (!/^[1-9]\d{0,15}$/.test(text) || Number(text) > most)
    throw new VoleError('usage', `${flag}: '${text}' is not allowed; use a number from 1 to ${most}`);
  return text;
}

export function runsTable(runs: readonly ApiRun[], nowMs: number): string {
  const rows = runs.map((run) => [
    String(run.id),
    run.state,
    run.repository,
    run.job,
    `${shortRef(run.ref)} ${run.sha.slice(0, 8)}`,
    age(run.createdAtMs, nowMs),
    run.startedAtMs === null ? '' : formatDuration(Math.max(0, (run.endedAtMs ?? nowMs) - run.startedAtMs)),
    run.machine ?? '',
  ]);
  return table(['RUN', 'STATE', 'REPOSITORY', 'JOB', 'COMMIT', 'CREATED', 'TOOK', 'MACHINE'], rows);
}
