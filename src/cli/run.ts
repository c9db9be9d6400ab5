import { Command, Option } from 'commander';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { addSettings, readSettings } from './settings-options.ts';

/** What a `.vole.yml` holds at least. */
const SMALLEST = ['on: [push]', 'jobs:', '  test:', '    steps:', '      - run: npm test'];

/** `vole run`: the workflow of the repository you stand in, here and now, with no server to set up. */
export function runCommand(context: CliContext): Command {
  const command = new Command('run')
    .description('run the workflow of the repository you stand in, here and now')
    .argument(
      '[job...]',
      'run these jobs, or entries of a matrix as the table shows them, and what they need; all by default',
    )
    .option('--ref <REF>', 'the branch, tag or commit to run (default: what is checked out)')
    .addOption(
      new Option(
        '--dirty',
        'run the files as they are: what is committed with what is changed, staged or new, but not what git ignores',
      ).conflicts('ref'),
    )
    .option(
      '--secret <NAME>',
      'a variable of your environment that jobs get as a secret, masked in their output; may be given several times',
      (name: string, names: string[]) => [...names, name],
      [],
    )
    .option('--json', 'print the results as JSON and the output to standard error');
  addSettings(command, 'run');
  withExamples(command, [
    { command: 'vole run', what: 'every job, one after the other' },
    { command: 'vole run --jobs 4 lint test', what: 'two jobs and what they need, up to four at once' },
    { command: 'vole run "test (22)"', what: 'one entry of a matrix and what it needs' },
    { command: 'vole run --dirty test', what: 'one job with the changes that are not committed' },
    {
      command: 'vole run --secret DEPLOY_TOKEN deploy',
      what: 'one job with a secret, which is exported before',
    },
    { command: 'vole run --ref v1.2', what: 'the workflow as it was at a tag' },
  ]);
  command.addHelpText('after', `\nA small .vole.yml:\n\n${SMALLEST.map((line) => `  ${line}`).join('\n')}`);
  return command.action(async (jobs: string[], options: Record<string, unknown>) => {
    const settings = readSettings('run', options, context);
    const { runHere } = await import('./run/run-here.ts');
    context.exitCode = await runHere(context, settings, {
      jobs,
      ref: typeof options['ref'] === 'string' ? options['ref'] : null,
      secrets: options['secret'] as string[],
      dirty: options['dirty'] === true,
      json: options['json'] === true,
    });
  });
}
