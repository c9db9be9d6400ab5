import { Command } from 'commander';
import { type ApiPipeline, pipelineSchema, runDetailSchema } from '../shared/api.ts';
import { VoleError } from '../shared/errors.ts';
import { type ApiClient, json } from './client/api-client.ts';
import { addClientOptions, clientOf, type Options, printJson, runId } from './client/client-command.ts';
import { printResults, printRuns, waited } from './client/pipeline-runs.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** Of one pipeline what is executed again; null is all that did not pass. */
interface Wanted {
  readonly pipeline: number;
  readonly runs: readonly number[] | null;
}

/** `vole retry`: a new pipeline of what did not pass, exactly as it was. */
export function retryCommand(context: CliContext): Command {
  const command = new Command('retry')
    .description('execute failed runs again, with what needs them, as a new pipeline of the same commit')
    .argument('[run...]')
    .option('--pipeline <id>', 'all runs of this pipeline that did not pass')
    .option('--wait', 'follow the new runs to their end; exit with 1 where one did not pass');
  withExamples(addClientOptions(command), [
    {
      command: 'vole retry 17 --wait --data /var/lib/vole-server',
      what: 'run 17 again, and see how it goes',
    },
    { command: 'vole retry --pipeline 5', what: 'all that failed in a pipeline' },
  ]);
  return command.action(async (texts: string[], options: Options) => {
    const runs = texts.map(runId);
    const pipeline = options['pipeline'];
    if ((runs.length === 0) === (typeof pipeline !== 'string'))
      throw new VoleError('usage', 'which ones? give runs, as `vole runs` prints them, or --pipeline ID');
    const client = clientOf(options, context);
    const wanted =
      typeof pipeline === 'string'
        ? [{ pipeline: pipelineId(pipeline), runs: null }]
        : await byPipeline(client, runs);
    await retry(client, wanted, options, context);
  });
}

/** What is refused of one pipeline holds up no other. */
async function retry(
  client: ApiClient,
  wanted: readonly Wanted[],
  options: Options,
  context: CliContext,
): Promise<void> {
  const quiet = Boolean(options['json']);
  const refused: VoleError[] = [];
  const made: ApiPipeline[] = [];
  for (const { pipeline, runs } of wanted) {
    const body = json(runs === null ? {} : { runs });
    try {
      made.push(await client.send('POST', `/api/pipelines/${pipeline}/retry`, body, pipelineSchema));
    } catch (error) {
      if (!(error instanceof VoleError) || error.code !== 'usage') throw error;
      refused.push(error);
    }
  }
  const { url } = await client.location();
  if (!quiet) for (const pipeline of made) printMade(pipeline, url, context);
  const ended: ApiPipeline[] = [];
  for (const pipeline of made)
    ended.push(options['wait'] ? await waited(client, pipeline, context, quiet) : pipeline);
  if (quiet) printJson(context, { pipelines: ended });
  if (options['wait']) {
    if (!quiet) for (const pipeline of ended) printResults(pipeline, context);
    if (ended.some(({ runs }) => runs.some((run) => run.state !== 'passed'))) context.exitCode = 1;
  }
  if (refused.length > 0) throw new VoleError('usage', refused.map((error) => error.message).join('\n'));
}

function printMade(pipeline: ApiPipeline, url: string, context: CliContext): void {
  const { id, retryOf } = pipeline;
  context.stdout(`pipeline ${id}, a retry of pipeline ${retryOf}  ${url}/pipelines/${id}\n`);
  printRuns(pipeline, url, context);
}

/** Runs of one pipeline are retried together: what needs several of them then runs once. */
async function byPipeline(client: ApiClient, ids: readonly number[]): Promise<Wanted[]> {
  const wanted = new Map<number, number[]>();
  for (const id of new Set(ids)) {
    const { pipeline } = await client.get(`/api/runs/${id}`, runDetailSchema);
    wanted.set(pipeline, [...(wanted.get(pipeline) ?? []), id]);
  }
  return [...wanted].map(([pipeline, runs]) => ({ pipeline, runs }));
}

function pipelineId(text: string): number {
  const id = /^#?([1-9]\d{0,14})$/.exec(text)?.[1];
  if (id === undefined) throw new VoleError('usage', `--pipeline: '${text}' is no pipeline; give its number`);
  return Number(id);
}
