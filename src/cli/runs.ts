import { Command } from 'commander';
import { type ApiRun, pipelineListSchema, repositorySchema, runListSchema } from '../shared/api.ts';
import { repositoryNameSchema } from '../shared/api-names.ts';
import { VoleError } from '../shared/errors.ts';
import { RUN_STATES } from '../shared/outcome.ts';
import { age, shortRef } from '../shared/plain-text.ts';
import { formatDuration } from '../shared/units.ts';
import type { ApiClient } from './client/api-client.ts';
import { addClientOptions, argument, clientOf, type Options, printJson } from './client/client-command.ts';
import { faultyPipelines } from './client/faulty-pipelines.ts';
import { commitWords, tookMs } from './client/run-facts.ts';
import { stateColour } from './client/state-colour.ts';
import { columns, fitted, table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { type Paint, paintFor } from './run/paint.ts';

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
    if (reply.runs.length === 0) await sayNone(client, query, context);
    const nowMs = Date.now();
    if (!context.interactive) context.stdout(runsTable(reply.runs, nowMs));
    else if (reply.runs.length > 0)
      context.stdout(screenTable(reply.runs, nowMs, context.columns, paintFor(context)));
    if (context.interactive && !query.has('state') && !query.has('before'))
      await tellOfFaults(client, query, reply.runs, context);
  });
}

async function tellOfFaults(
  client: ApiClient,
  query: URLSearchParams,
  runs: readonly ApiRun[],
  context: CliContext,
): Promise<void> {
  const repository = query.get('repository');
  const which = repository === null ? '' : `?repository=${repository}`;
  const { pipelines } = await client.get(`/api/pipelines${which}`, pipelineListSchema);
  for (const line of faultyPipelines(pipelines, runs)) context.stderr(`vole: ${line}\n`);
}

/** Else nobody knew a mistyped repository from one without runs. Throws `not-found`. */
async function sayNone(client: ApiClient, query: URLSearchParams, context: CliContext): Promise<void> {
  const repository = query.get('repository');
  const state = query.get('state');
  if (repository !== null) await client.get(`/api/repos/${repository}`, repositorySchema);
  const which = [repository && ` of ${repository}`, state && ` in state ${state}`].filter(Boolean).join('');
  context.stderr(`vole: there are no runs${which}\n`);
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

/** For scripts as well: its columns stay as they are. */
export function runsTable(runs: readonly ApiRun[], nowMs: number): string {
  const rows = runs.map((run) => [
    String(run.id),
    run.state,
    run.repository,
    run.job,
    commitWords(run),
    ...timesAndPlace(run, nowMs),
  ]);
  return table(['RUN', 'STATE', 'REPOSITORY', 'JOB', 'COMMIT', 'CREATED', 'TOOK', 'MACHINE'], rows);
}

const HEAD = ['RUN', 'STATE', 'REPOSITORY', 'JOB', 'REF', 'COMMIT', 'CREATED', 'TOOK', 'MACHINE', 'WHY'];
const CUTTABLE = ['REPOSITORY', 'JOB', 'REF', 'MACHINE', 'WHY'].map((name) => HEAD.indexOf(name));
const STATE = HEAD.indexOf('STATE');

/** For a terminal of so many columns: with why a run did not pass, as far as there is room. */
export function screenTable(runs: readonly ApiRun[], nowMs: number, width: number, paint: Paint): string {
  const rows = runs.map((run) => [
    String(run.id),
    run.state,
    run.repository,
    run.job,
    shortRef(run.ref),
    run.sha.slice(0, 8),
    ...timesAndPlace(run, nowMs),
    run.state === 'passed' ? '' : run.detail,
  ]);
  const all = [HEAD, ...rows];
  const withoutWhy = all.map((row) => row.slice(0, -1));
  const cells =
    fitted(all, width, CUTTABLE) ?? fitted(withoutWhy, width, CUTTABLE.slice(0, -1)) ?? withoutWhy;
  const lines = columns(cells, (cell, row, column) => {
    if (row === 0) return paint('dim', cell);
    const run = column === STATE ? runs[row - 1] : undefined;
    return run ? paint(stateColour(run.state), cell) : cell;
  });
  return lines.map((line) => `${line}\n`).join('');
}

function timesAndPlace(run: ApiRun, nowMs: number): string[] {
  const took = tookMs(run, nowMs);
  return [age(run.createdAtMs, nowMs), took === null ? '' : formatDuration(took), run.machine ?? ''];
}
