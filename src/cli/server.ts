import { Command } from 'commander';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { addSettings, readSettings } from './settings-options.ts';
import { version } from './version.ts';

/** `vole server`: the queue, the SSH endpoint of the runners, and the pages, until a signal. */
export function serverCommand(context: CliContext): Command {
  const command = new Command('server').description('serve runners over SSH and people over HTTP');
  addSettings(command, 'server');
  withExamples(command, [
    { command: 'vole server --data /var/lib/vole-server', what: 'on loopback, HTTP 8080 and SSH 2222' },
    {
      command: 'vole server --data /var/lib/vole-server --ssh 0.0.0.0:2222',
      what: 'runners of other hosts connect; the pages stay on this one',
    },
  ]);
  return command.action(async (options: Record<string, unknown>) => {
    const { logLevel, logFormat, ...settings } = readSettings('server', options, context);
    context.onClosedOutput = 'ignore'; // what it does is not for who reads its first line
    const { ownLog } = await import('./own-log.ts');
    const { startServer } = await import('../server/server.ts');
    const { addressText } = await import('../server/web/http-endpoint.ts');
    const log = ownLog({ logLevel, logFormat }, context);
    const stopped = new Promise<string>((resolve) => {
      for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
        context.onSignal(name, () => resolve(name));
    });
    const server = await startServer({ settings, version: version(), log, env: context.env });
    const { http, ssh, fingerprint } = server;
    context.stdout(`vole server ready: ${http.url}, ssh ${addressText(ssh)}, host key ${fingerprint}\n`);
    const hint = publicUrlHint(http, settings.publicUrl);
    if (hint !== null) log.info({}, hint);
    log.info({ signal: await stopped }, 'closing');
    await server.close();
    log.info({}, 'closed');
  });
}

/** What to say where the address that the server prints is good on its own machine alone; null where it is not so. */
export function publicUrlHint(
  http: { readonly host: string; readonly url: string },
  publicUrl: string | null,
): string | null {
  if (publicUrl !== null || !['0.0.0.0', '::'].includes(http.host)) return null;
  const where = `HTTP listens on every address of this host, and ${http.url} is the one for this host alone`;
  return `${where}: links in statuses, comments and webhooks begin with it too, so give --public-url the one that others use`;
}
