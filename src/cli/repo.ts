import { existsSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import type { ApiRepository } from '../shared/api.ts';
import { cloneUrlSchema, repositoryNameSchema } from '../shared/api-names.ts';
import { counted } from '../shared/counted.ts';
import { VoleError } from '../shared/errors.ts';
import {
  addClientOptions,
  argument,
  isServerHere,
  type Options,
  printJson,
  withAdmin,
} from './client/client-command.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { addForgeOptions, forgeOf, webhookText } from './forge-options.ts';
import { withExamples } from './help.ts';

/** `vole repo`: which repositories the server knows, and how many of their runs run at once. */
export function repoCommand(context: CliContext): Command {
  const command = new Command('repo').description('register repositories and cap their runs');
  command.addCommand(addRepo(context));
  command.addCommand(listRepos(context));
  command.addCommand(setRepo(context));
  command.addCommand(webhookOfRepo(context));
  command.addCommand(removeRepo(context));
  return command;
}

const MAX_JOBS = 'most runs of it at once; `none` is no cap';

function addRepo(context: CliContext): Command {
  const command = new Command('add')
    .description('register a repository; works before the server was ever started')
    .argument('<owner/name>', 'its name on this server')
    .argument('<clone-url>', 'where git clones it from: a URL, USER@HOST:PATH, or a path on the server')
    .option('--max-jobs <N|none>', MAX_JOBS);
  addForgeOptions(command, '');
  withExamples(addClientOptions(command), [
    {
      command: 'vole repo add team/app https://git.example/team/app.git --data /var/lib/vole-server',
      what: 'register it',
    },
    {
      command: 'vole repo add team/app /srv/git/app.git --max-jobs 2',
      what: 'never more than two runs at once',
    },
    {
      command:
        'vole repo add team/app https://git.example/team/app.git --forge gitea --forge-url https://git.example --forge-token-file /etc/vole/bot-token --data /var/lib/vole-server',
      what: 'with statuses, comments and a webhook, whose address and secret it prints',
    },
  ]);
  return command.action(async (name: string, url: string, options: Options) => {
    const forge = forgeOf(options, context);
    const body = {
      name: argument('repository', repositoryNameSchema, name),
      cloneUrl: cloneUrl(url, options, context),
      maxJobs: maxJobs(options) ?? null,
      ...(forge === undefined ? {} : { forge }),
    };
    const repository = await withAdmin(options, context, (admin) => admin.addRepository(body), {
      makes: true,
    });
    warnOfPath(repository.cloneUrl, options, context);
    if (options['json']) return printJson(context, repository);
    context.stdout(`added ${repository.name} (${repository.cloneUrl}), ${capText(repository)}\n`);
    if (repository.webhook) context.stdout(webhookText(repository.webhook));
  });
}

function listRepos(context: CliContext): Command {
  const command = new Command('ls').description('list the repositories');
  withExamples(addClientOptions(command), [
    { command: 'vole repo ls --data /var/lib/vole-server', what: 'list them' },
  ]);
  return command.action(async (options: Options) => {
    const repositories = await withAdmin(options, context, (admin) => admin.repositories());
    if (options['json']) return printJson(context, { repositories });
    const rows = repositories.map((repository) => [
      repository.name,
      repository.maxJobs === null ? 'none' : String(repository.maxJobs),
      repository.forge ?? 'none',
      repository.cloneUrl,
    ]);
    context.stdout(table(['REPOSITORY', 'MAX JOBS', 'FORGE', 'CLONE URL'], rows));
  });
}

function setRepo(context: CliContext): Command {
  const command = new Command('set')
    .description('change the cap, the clone URL or the forge of a repository')
    .argument('<owner/name>')
    .option('--max-jobs <N|none>', MAX_JOBS)
    .option('--clone-url <url>', 'where git clones it from');
  addForgeOptions(command, '|none');
  withExamples(addClientOptions(command), [
    {
      command: 'vole repo set team/app --max-jobs none --data /var/lib/vole-server',
      what: 'take the cap away',
    },
  ]);
  return command.action(async (name: string, options: Options) => {
    const cap = maxJobs(options);
    const url = options['cloneUrl'];
    const forge = options['forge'] === 'none' ? null : forgeOf(options, context);
    if (cap === undefined && url === undefined && forge === undefined)
      throw new VoleError('usage', 'nothing to set: give --max-jobs, --clone-url or --forge');
    const change = {
      ...(cap === undefined ? {} : { maxJobs: cap }),
      ...(forge === undefined ? {} : { forge }),
      ...(typeof url === 'string' ? { cloneUrl: cloneUrl(url, options, context) } : {}),
    };
    const repositoryName = argument('repository', repositoryNameSchema, name);
    const repository = await withAdmin(options, context, (admin) =>
      admin.setRepository(repositoryName, change),
    );
    if (change.cloneUrl !== undefined) warnOfPath(change.cloneUrl, options, context);
    if (options['json']) return printJson(context, repository);
    context.stdout(`${repository.name} (${repository.cloneUrl}), ${capText(repository)}\n`);
    if (repository.webhook) context.stdout(webhookText(repository.webhook));
  });
}

function webhookOfRepo(context: CliContext): Command {
  const command = new Command('webhook')
    .description("print what to enter as the webhook in the forge's settings: address and secret")
    .argument('<owner/name>')
    .option('--new-secret', 'make a new secret; the old one is refused from then on');
  withExamples(addClientOptions(command), [
    { command: 'vole repo webhook team/app --data /var/lib/vole-server', what: 'show it again' },
  ]);
  return command.action(async (name: string, options: Options) => {
    const repository = argument('repository', repositoryNameSchema, name);
    const newSecret = options['newSecret'] === true;
    const webhook = await withAdmin(options, context, (admin) => admin.webhook(repository, newSecret));
    if (options['json']) return printJson(context, { webhook });
    context.stdout(webhookText(webhook));
  });
}

function removeRepo(context: CliContext): Command {
  const command = new Command('rm')
    .description('remove a repository that has no unfinished runs, and its secrets with it')
    .argument('<owner/name>');
  withExamples(addClientOptions(command), [
    { command: 'vole repo rm team/app --data /var/lib/vole-server', what: 'remove it' },
  ]);
  return command.action(async (name: string, options: Options) => {
    const repositoryName = argument('repository', repositoryNameSchema, name);
    const secrets = await withAdmin(options, context, (admin) => admin.removeRepository(repositoryName));
    if (options['json']) return printJson(context, { removed: 1, secrets });
    const also = secrets > 0 ? `, with ${counted(secrets, 'secret')}` : '';
    context.stdout(`removed ${repositoryName}${also}\n`);
  });
}

/** A path that exists from here is made absolute where the server is on this machine. */
function cloneUrl(text: string, options: Options, context: CliContext): string {
  const relative = /^\.{1,2}(?:\/|$)/.test(text) && isServerHere(options, context);
  return argument('clone URL', cloneUrlSchema, relative ? path.resolve(context.cwd, text) : text);
}

/** Of a path on the server's own host: a mistyped one would be found out with the first push. It may come later. */
function warnOfPath(url: string, options: Options, context: CliContext): void {
  if (!url.startsWith('/') || !isServerHere(options, context)) return;
  if (!existsSync(url)) context.stderr(`vole: there is no ${url} on this host yet: runs of it will fail\n`);
  else if (!existsSync(path.join(url, '.git')) && !existsSync(path.join(url, 'HEAD')))
    context.stderr(`vole: ${url} is no git repository: runs of it will fail\n`);
}

/** Undefined where it was not given. */
function maxJobs(options: Options): number | null | undefined {
  const text = options['maxJobs'];
  if (typeof text !== 'string') return undefined;
  if (text === 'none') return null;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > 100_000)
    throw new VoleError('usage', `--max-jobs: '${text}' is not allowed; use 1 to 100000, or none`);
  return value;
}

function capText(repository: ApiRepository): string {
  return repository.maxJobs === null ? 'no cap' : `at most ${counted(repository.maxJobs, 'run')} at once`;
}
