import { Command } from 'commander';
import { repositoryNameSchema, secretNameSchema, secretValueFault } from '../shared/api-names.ts';
import { VoleError } from '../shared/errors.ts';
import { addClientOptions, argument, type Options, printJson, withAdmin } from './client/client-command.ts';
import { promptHidden } from './client/prompt.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole secret`: values that trusted runs of a repository get in their environment. */
export function secretCommand(context: CliContext): Command {
  const command = new Command('secret').description("manage the secrets of repositories' trusted runs");
  command.addCommand(setSecret(context));
  command.addCommand(listSecrets(context));
  command.addCommand(removeSecret(context));
  return command;
}

function setSecret(context: CliContext): Command {
  const command = new Command('set')
    .description('set a secret from standard input; one newline at its end is taken off')
    .argument('<owner/name>')
    .argument('<name>', 'as the variable in the steps: letters, digits and `_`');
  withExamples(addClientOptions(command), [
    {
      command: 'vole secret set team/app DEPLOY_TOKEN --data /var/lib/vole-server < token.txt',
      what: 'from a file',
    },
    {
      command: 'vole secret set team/app DEPLOY_TOKEN --data /var/lib/vole-server',
      what: 'typed, without echo',
    },
  ]);
  return command.action(async (repositoryText: string, nameText: string, options: Options) => {
    const repository = argument('repository', repositoryNameSchema, repositoryText);
    const name = argument('secret', secretNameSchema, nameText);
    const typed = process.stdin.isTTY ? await promptHidden(`Value of ${name}: `) : await context.stdin();
    const value = Buffer.from(typed.replace(/\r?\n$/, ''), 'utf8');
    const fault = typed.includes('\ufffd') ? 'the value is no UTF-8 text' : secretValueFault(value);
    if (fault !== null) throw new VoleError('usage', `secret ${name} refused: ${fault}`);
    await withAdmin(options, context, (admin) => admin.setSecret(repository, name, value));
    if (options['json']) return printJson(context, { repository, name });
    context.stdout(`set ${name} of ${repository}\n`);
  });
}

function listSecrets(context: CliContext): Command {
  const command = new Command('ls')
    .description('list the names of secrets; their values are never shown')
    .argument('<owner/name>');
  withExamples(addClientOptions(command), [
    { command: 'vole secret ls team/app --data /var/lib/vole-server', what: 'list them' },
  ]);
  return command.action(async (repositoryText: string, options: Options) => {
    const repository = argument('repository', repositoryNameSchema, repositoryText);
    const secrets = await withAdmin(options, context, (admin) => admin.secrets(repository));
    if (options['json']) return printJson(context, { secrets });
    const rows = secrets.map((secret) => [secret.name, new Date(secret.updatedAtMs).toISOString()]);
    context.stdout(table(['NAME', 'SET'], rows));
  });
}

function removeSecret(context: CliContext): Command {
  const command = new Command('rm')
    .description('remove a secret')
    .argument('<owner/name>')
    .argument('<name>');
  withExamples(addClientOptions(command), [
    { command: 'vole secret rm team/app DEPLOY_TOKEN --data /var/lib/vole-server', what: 'remove it' },
  ]);
  return command.action(async (repositoryText: string, nameText: string, options: Options) => {
    const repository = argument('repository', repositoryNameSchema, repositoryText);
    const name = argument('secret', secretNameSchema, nameText);
    await withAdmin(options, context, (admin) => admin.removeSecret(repository, name));
    if (options['json']) return printJson(context, { removed: 1 });
    context.stdout(`removed ${name} of ${repository}\n`);
  });
}
