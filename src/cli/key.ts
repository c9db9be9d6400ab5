import { open } from 'node:fs/promises';
import path from 'node:path';
import { Command } from 'commander';
import { accountNameSchema } from '../shared/api-names.ts';
import { oneLine, VoleError } from '../shared/errors.ts';
import { looksPrivate, parsePublicKey } from '../shared/public-key.ts';
import { addClientOptions, argument, type Options, printJson, withAdmin } from './client/client-command.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

/** `vole key`: whose runners may connect. */
export function keyCommand(context: CliContext): Command {
  const command = new Command('key').description("manage the accounts' public keys");
  command.addCommand(addKeyCommand(context));
  command.addCommand(listKeys(context));
  command.addCommand(removeKey(context));
  return command;
}

function addKeyCommand(context: CliContext): Command {
  const command = new Command('add')
    .description('let a key connect as an account; works before the server was ever started')
    .argument('<account>', 'one account a host is a good rule')
    .argument('<file>', 'the public key, such as id_ed25519.pub; `-` reads standard input');
  withExamples(addClientOptions(command), [
    { command: 'ssh-keygen -t ed25519 -N "" -f runner-key', what: 'make a key for a host' },
    {
      command: 'vole key add build1 runner-key.pub --data /var/lib/vole-server',
      what: 'let it connect as build1',
    },
  ]);
  return command.action(async (name: string, file: string, options: Options) => {
    const account = argument('account', accountNameSchema, name);
    const text = file === '-' ? await context.stdin() : await readPublicKey(path.resolve(context.cwd, file));
    const parsed = parsePublicKey(text);
    const where = file === '-' ? 'standard input' : file;
    if (!parsed.ok) throw new VoleError('usage', `${where}: ${parsed.fault}`);
    const added = await withAdmin(options, context, (admin) => admin.addKey(account, parsed.key.publicKey), {
      makes: true,
    });
    if (options['json']) return printJson(context, added);
    context.stdout(
      `${added.added ? 'added' : 'there already:'} ${added.fingerprint} of account ${added.account}\n`,
    );
  });
}

const HEAD_BYTES = 64;
const MOST_BYTES = 20_000;

/** Looks at the first bytes alone before it reads on: a private key does not enter this process whole. */
async function readPublicKey(file: string): Promise<string> {
  try {
    const handle = await open(file, 'r');
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      const { bytesRead } = await handle.read(head, 0, HEAD_BYTES);
      const start = head.toString('latin1', 0, bytesRead);
      if (looksPrivate(start)) return start;
      const rest = Buffer.alloc(MOST_BYTES);
      const { bytesRead: more } = await handle.read(rest, 0, MOST_BYTES);
      return start + rest.toString('latin1', 0, more);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'not-found' : 'io-error';
    throw new VoleError(code, `cannot read ${file}: ${oneLine(error)}`, { cause: error });
  }
}

function listKeys(context: CliContext): Command {
  const command = new Command('ls').description('list the keys');
  withExamples(addClientOptions(command), [
    { command: 'vole key ls --data /var/lib/vole-server', what: 'list them' },
  ]);
  return command.action(async (options: Options) => {
    const keys = await withAdmin(options, context, (admin) => admin.keys());
    if (options['json']) return printJson(context, { keys });
    const rows = keys.map((key) => [
      key.account,
      key.fingerprint,
      key.publicKey.split(' ')[0] ?? '',
      new Date(key.addedAtMs).toISOString().slice(0, 10),
    ]);
    context.stdout(table(['ACCOUNT', 'FINGERPRINT', 'TYPE', 'ADDED'], rows));
  });
}

function removeKey(context: CliContext): Command {
  const command = new Command('rm')
    .description(
      'remove one key of an account, or all of them: their sessions end at once, after the run they have in hand',
    )
    .argument('<account>')
    .argument('[fingerprint]', 'SHA256:..., as `vole key ls` prints it')
    .option('--all', 'every key of the account');
  withExamples(addClientOptions(command), [
    {
      command: 'vole key rm build1 --all --data /var/lib/vole-server',
      what: 'nobody connects as build1 any more',
    },
  ]);
  return command.action(async (name: string, fingerprint: string | undefined, options: Options) => {
    if ((fingerprint === undefined) !== Boolean(options['all']))
      throw new VoleError('usage', 'which key? give its fingerprint, or --all');
    const account = argument('account', accountNameSchema, name);
    const removed = await withAdmin(options, context, (admin) =>
      admin.removeKeys(account, fingerprint ?? null),
    );
    if (options['json']) return printJson(context, { removed });
    context.stdout(`removed ${removed} ${removed === 1 ? 'key' : 'keys'} of account ${account}\n`);
  });
}
