import { type RunningServer, startServer } from '../server/server.ts';
import { VoleError } from '../shared/errors.ts';
import { type Environment, resolveSettings } from '../shared/settings/resolve.ts';
import { version } from './version.ts';

/** A server in this process on free ports of loopback, with its data in `data`, where `secrets` do not get. */
export async function embeddedServer(
  data: string,
  env: Environment,
  secrets: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const flags = { data, http: '127.0.0.1:0', ssh: '127.0.0.1:0' };
  const resolved = resolveSettings('server', flags, {}, '/');
  if (!resolved.ok) throw new VoleError('internal', resolved.faults.join('; '));
  return await startServer({ settings: resolved.settings, version: version(), env, secrets, log: SILENT });
}

export const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
