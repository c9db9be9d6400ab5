import path from 'node:path';
import type { Command } from 'commander';
import { type ApiWebhook, FORGE_KINDS, type ForgeBody, forgeBodySchema } from '../shared/api-forge.ts';
import { VoleError } from '../shared/errors.ts';
import { argument, isServerHere, type Options } from './client/client-command.ts';
import type { CliContext } from './context.ts';

/** The options that say where a repository lives. */
export function addForgeOptions(command: Command, none: string): Command {
  return command
    .option(
      `--forge <${FORGE_KINDS.join('|')}${none}>`,
      'where statuses and comments go and events come from',
    )
    .option('--forge-url <URL>', "the forge's pages; https://github.com by default where it is github")
    .option('--forge-token-file <FILE>', "file on the server with the bot's token")
    .option('--forge-project <OWNER/NAME>', "the repository's name there, where it is another one")
    .option('--no-check', 'do not ask the forge what the token may do');
}

/** Undefined where no forge was given. */
export function forgeOf(options: Options, context: CliContext): ForgeBody | undefined {
  if (options['forge'] === undefined) {
    for (const [name, flag] of [
      ['forgeUrl', '--forge-url'],
      ['forgeTokenFile', '--forge-token-file'],
      ['forgeProject', '--forge-project'],
    ] as const) {
      if (options[name] !== undefined) throw new VoleError('usage', `${flag} needs --forge`);
    }
    return undefined;
  }
  const fields = forgeBodySchema.shape;
  const kind = argument('--forge', fields.kind, options['forge']);
  const givenUrl = options['forgeUrl'] ?? (kind === 'github' ? 'https://github.com' : undefined);
  if (givenUrl === undefined) throw new VoleError('usage', '--forge needs --forge-url');
  const url = argument('--forge-url', fields.url, givenUrl);
  const given = options['forgeTokenFile'];
  if (typeof given !== 'string') throw new VoleError('usage', '--forge needs --forge-token-file');
  const file = isServerHere(options, context) ? path.resolve(context.cwd, given) : given;
  const tokenFile = argument('--forge-token-file', fields.tokenFile, file);
  const check = options['check'] !== false;
  const project = argument('--forge-project', fields.project, options['forgeProject']);
  return { kind, url, tokenFile, check, ...(project === undefined ? {} : { project }) };
}

/** What to enter in the forge's settings. */
export function webhookText({ url, secret }: ApiWebhook): string {
  const shown = url.startsWith('/') ? `${url} (on the server's --public-url)` : url;
  return `webhook: ${shown}\nsecret:  ${secret}\n`;
}
