import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { z } from 'zod';
import { VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';
import type { CliContext } from '../context.ts';
import { addSettings, readSettings } from '../settings-options.ts';
import type { Admin } from './admin.ts';
import { ApiClient } from './api-client.ts';
import { HttpAdmin } from './http-admin.ts';
import { locator } from './locate.ts';

export type Options = Readonly<Record<string, unknown>>;

/** The options that every command has which speaks to a server. */
export function addClientOptions(command: Command, json = 'print JSON for programs'): Command {
  addSettings(command, 'client');
  return command.option('--json', json);
}

/** A directory that is given here is meant, wherever the environment's address points. */
function clientSettings(
  options: Options,
  context: Pick<CliContext, 'env' | 'cwd' | 'stderr'>,
): Settings<'client'> {
  const settings = readSettings('client', options, context);
  const isDataAlone = options['data'] !== undefined && options['url'] === undefined;
  return isDataAlone ? { ...settings, url: null } : settings;
}

export function clientOf(options: Options, context: CliContext): ApiClient {
  const settings = clientSettings(options, context);
  needData(settings);
  return new ApiClient(locator(settings));
}

function needData({ url, data }: Settings<'client'>): void {
  if (url !== null || data === null || existsSync(data)) return;
  const what = 'give the one that `vole server` was started with';
  throw new VoleError('not-found', `there is no data directory ${data}: ${what}`);
}

/** Whether paths mean this machine's: the server is reached by its data directory. A URL may come from the environment. */
export function isServerHere(options: Options, { env, cwd }: CliContext): boolean {
  // Warnings are said where the settings are read for the request.
  return clientSettings(options, { env, cwd, stderr: () => {} }).url === null;
}

/**
 * Does something with the server that runs on the data directory or at the URL; where none runs on
 * the directory, with the directory itself, so that a host is set up before its first start. `makes`: it is
 * made where it is not there, which a mistyped one never is by a command that only looks.
 */
export async function withAdmin<T>(
  options: Options,
  context: CliContext,
  action: (admin: Admin) => Promise<T>,
  { makes = false } = {},
): Promise<T> {
  const admin = await openAdmin(clientSettings(options, context), makes);
  try {
    return await action(admin);
  } finally {
    await admin.close();
  }
}

async function openAdmin(settings: Settings<'client'>, makes: boolean): Promise<Admin> {
  if (!makes) needData(settings);
  const locate = locator(settings);
  const client = new ApiClient(locate);
  if (settings.url !== null || settings.data === null) return new HttpAdmin(client);
  const unreachable = await whyUnreachable(client);
  if (unreachable === null) return new HttpAdmin(client);
  const { DirectoryAdmin } = await import('./directory-admin.ts');
  try {
    return await DirectoryAdmin.open(settings.data);
  } catch (error) {
    // somebody holds it: a server that starts just now, or does not answer
    if (error instanceof VoleError && error.code === 'lock-held') {
      if ((await whyUnreachable(client)) === null) return new HttpAdmin(client);
      throw new VoleError('server-unreachable', `${unreachable.message}, and ${error.message}`, {
        cause: error,
      });
    }
    throw error;
  }
}

async function whyUnreachable(client: ApiClient): Promise<VoleError | null> {
  try {
    await client.get('/healthz', z.object({ ok: z.literal(true) }));
    return null;
  } catch (error) {
    if (error instanceof VoleError && error.code === 'server-unreachable') return error;
    throw error;
  }
}

export function printJson(context: CliContext, value: unknown): void {
  context.stdout(`${JSON.stringify(value, null, 2)}\n`);
}

/** `12`, as `vole runs` prints it, or `#12`. */
export function runId(text: string): number {
  const id = /^#?([1-9]\d{0,14})$/.exec(text)?.[1];
  if (id === undefined)
    throw new VoleError('usage', `'${text}' is no run; give its number, as \`vole runs\` prints it`);
  return Number(id);
}

/** An argument by a schema of the API, before anything is asked. */
export function argument<T extends z.ZodType>(name: string, schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const why = parsed.error.issues[0]?.message ?? 'not allowed';
  throw new VoleError('usage', `${name}: ${JSON.stringify(value)} is not allowed: ${why}`);
}
