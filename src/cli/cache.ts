import { Command } from 'commander';
import type { CacheAdmin } from '../runner/cache/cache-admin.ts';
import { repositoryNameSchema } from '../shared/api-names.ts';
import { ERRORS, VoleError } from '../shared/errors.ts';
import type { Settings } from '../shared/settings/types.ts';
import { argument } from './client/client-command.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { addSettings, readSettings } from './settings-options.ts';

type Given = Readonly<Record<string, unknown>>;
type CacheSettings = Settings<'cache'>;

/** `vole cache`: the caches and saved checkouts of a runner's directory, safe beside live runners. */
export function cacheCommand(context: CliContext): Command {
  const command = new Command('cache').description(
    "look after the caches of a runner's directory; safe while runners use it",
  );
  command.addCommand(lsCommand(context));
  command.addCommand(trimCommand(context));
  command.addCommand(clearCommand(context));
  command.addCommand(verifyCommand(context));
  return command;
}

function lsCommand(context: CliContext): Command {
  const command = base('ls', 'list namespaces and saved checkouts: size, last use, whether in use');
  withExamples(command, [{ command: 'vole cache ls --dir /var/lib/vole', what: 'see what takes the room' }]);
  return command.action(async (given: Given) => {
    await withCache(given, context, async (admin) => {
      const { listJson, listText } = await import('./cache/list.ts');
      const listed = await admin.list();
      print(context, given, listJson(listed), listText(listed, Date.now()));
    });
  });
}

function trimCommand(context: CliContext): Command {
  const command = base('trim', 'remove what was not used for longest, now, until the sizes are kept');
  withExamples(command, [
    { command: 'vole cache trim --dir /var/lib/vole --cache-size 20GiB', what: 'make room at once' },
  ]);
  return command.action(async (given: Given) => {
    await withCache(given, context, async (admin, settings) => {
      const { trimNow } = await import('./cache/trim-now.ts');
      const { trimJson, trimText } = await import('./cache/outcome.ts');
      const trimmed = await trimNow(admin, settings, context);
      print(context, given, trimJson(trimmed), trimText(trimmed));
    });
  });
}

function clearCommand(context: CliContext): Command {
  const command = base('clear', 'remove every namespace and saved checkout that nobody uses');
  command.option('--repository <OWNER/NAME>', 'of this repository alone');
  withExamples(command, [
    {
      command: 'vole cache clear --dir /var/lib/vole --repository team/app',
      what: 'start one repository cold',
    },
  ]);
  return command.action(async (given: Given) => {
    const { repository } = given;
    const only =
      typeof repository === 'string' ? argument('--repository', repositoryNameSchema, repository) : null;
    await withCache(given, context, async (admin) => {
      const { clearText } = await import('./cache/outcome.ts');
      const cleared = await admin.clear(only);
      print(context, given, cleared, clearText(cleared));
    });
  });
}

function verifyCommand(context: CliContext): Command {
  const command = base('verify', 'look for what is damaged or left behind, and change nothing');
  command.addHelpText('after', `\nExit status ${ERRORS['io-error'].exit} where something is damaged.`);
  withExamples(command, [{ command: 'vole cache verify --dir /var/lib/vole', what: 'after a disk fault' }]);
  return command.action(async (given: Given) => {
    await withCache(given, context, async (admin) => {
      const { verifyCache } = await import('../runner/cache/verify.ts');
      const { progressLine } = await import('./cache/progress.ts');
      const { verifyText } = await import('./cache/outcome.ts');
      const progress = progressLine(context);
      const findings = await verifyCache(admin, ({ done, of }) =>
        progress.show('checking saved checkouts', done, of),
      ).finally(() => progress.clear());
      print(context, given, { findings }, verifyText(findings));
      if (findings.some(({ what }) => what === 'damaged')) context.exitCode = ERRORS['io-error'].exit;
    });
  });
}

function base(name: string, description: string): Command {
  return addSettings(new Command(name).description(description), 'cache').option(
    '--json',
    'print one JSON object',
  );
}

async function withCache(
  given: Given,
  context: CliContext,
  work: (admin: CacheAdmin, settings: CacheSettings) => Promise<void>,
): Promise<void> {
  const settings = readSettings('cache', given, context);
  const { dir } = settings;
  if (dir === null) throw new VoleError('usage', '--dir DIR is missing');
  const { CacheAdmin } = await import('../runner/cache/cache-admin.ts');
  const { hostFacts } = await import('./runner/runner-options.ts');
  const warn = (line: string): void => context.stderr(`vole: ${line}\n`);
  const admin = await CacheAdmin.open(dir, hostFacts(1).fileThreadFile, warn);
  try {
    await work(admin, settings);
  } finally {
    await admin.close();
  }
}

function print(context: CliContext, given: Given, json: object, text: string): void {
  context.stdout(given['json'] ? `${JSON.stringify(json)}\n` : text);
}
