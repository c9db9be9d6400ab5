import { Command } from 'commander';
import { pipelineSchema } from '../shared/api.ts';
import { refFault, repositoryNameSchema } from '../shared/api-names.ts';
import { VoleError } from '../shared/errors.ts';
import { json } from './client/api-client.ts';
import { addClientOptions, argument, clientOf, type Options, printJson } from './client/client-command.ts';
import { printResults, printRuns, waited } from './client/pipeline-runs.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole submit`: runs the workflow of a commit. */
export function submitCommand(context: CliContext): Command {
  const command = new Command('submit')
    .description('queue the workflow of a commit')
    .argument('<owner/name>')
    .argument(
      '[job...]',
      'only these jobs, or entries of a matrix as `vole runs` shows them, and what they need',
    )
    .option('--ref <ref>', 'branch, tag, full ref or commit; the default branch by default')
    .option(
      '--wait',
      'follow the runs to their end, say why one does not begin; exit with 1 where one did not pass',
    );
  withExamples(addClientOptions(command), [
    {
      command: 'vole submit team/app --ref v1.2 --data /var/lib/vole-server',
      what: 'queue what the tag holds',
    },
    { command: 'vole submit team/app test --wait', what: 'run one job and see how it goes' },
  ]);
  return command.action(async (name: string, jobs: string[], options: Options) => {
    const repository = argument('repository', repositoryNameSchema, name);
    const ref = options['ref'];
    const fault = typeof ref === 'string' ? refFault(ref) : null;
    if (fault !== null) throw new VoleError('usage', `--ref: ${fault}`);
    const client = clientOf(options, context);
    const body = { repository, ref: typeof ref === 'string' ? ref : null, jobs };
    const pipeline = await client.send('POST', '/api/pipelines', json(body), pipelineSchema);
    const { url } = await client.location();
    if (pipeline.fault !== null) {
      if (options['json']) printJson(context, pipeline);
      throw new VoleError(
        'workflow-invalid',
        `${pipeline.fault}\npipeline ${pipeline.id} failed: ${url}/pipelines/${pipeline.id}`,
      );
    }
    const quiet = Boolean(options['json']);
    if (!quiet) printRuns(pipeline, url, context);
    const ended = options['wait'] ? await waited(client, pipeline, context, quiet) : pipeline;
    if (quiet) printJson(context, ended);
    if (!options['wait']) return;
    if (!quiet) printResults(ended, context);
    if (ended.runs.some((run) => run.state !== 'passed')) context.exitCode = 1;
  });
}
