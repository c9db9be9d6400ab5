import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { runCommand } from '../../src/shared/platform/commands.ts';

/** Its version where it is on this host, or null. */
export async function buildbotVersion(): Promise<string | null> {
  const [master, worker] = await Promise.all([
    runCommand('buildbot', ['--version']),
    runCommand('buildbot-worker', ['--version']),
  ]);
  if (!master.ok || !worker.ok) return null;
  return /version: (\S+)/.exec(master.stdout)?.[1] ?? 'of an unknown version';
}

/**
 * Jobs a second of a Buildbot master and one worker process, on loopback and the master's own SQLite
 * database, from the start of the first measured build to the end of the last.
 */
export async function buildbotRate(
  config: string,
  dir: string,
  load: { readonly jobs: number; readonly warmUp: number; readonly count: number },
): Promise<number> {
  const port = await freePort();
  const [master, worker] = [path.join(dir, 'master'), path.join(dir, 'worker')];
  await done('buildbot', ['create-master', master]);
  copyFileSync(config, path.join(master, 'master.cfg'));
  await done('buildbot-worker', ['create-worker', worker, `127.0.0.1:${port}`, 'w', 'bench']);
  const started: ChildProcess[] = [];
  try {
    const env = {
      ...process.env,
      BENCH_PORT: String(port),
      BENCH_JOBS: String(load.jobs),
      BENCH_WARM_UP: String(load.warmUp),
      BENCH_COUNT: String(load.count),
    };
    const running = spawn('buildbot', ['start', '--nodaemon', master], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    started.push(running);
    for await (const line of createInterface({ input: running.stdout })) {
      if (line === 'queued') {
        started.push(spawn('buildbot-worker', ['start', '--nodaemon', worker], { stdio: 'ignore' }));
      } else if (/^[\d.]+$/.test(line)) {
        return load.count / Number(line);
      } else if (line.startsWith('a build ended')) {
        throw new Error(`Buildbot: ${line}`);
      }
    }
    throw new Error(`Buildbot ended; ${path.join(master, 'twistd.log')} says why`);
  } finally {
    for (const child of started.toReversed()) await ended(child);
  }
}

async function done(file: string, args: readonly string[]): Promise<void> {
  const result = await runCommand(file, args);
  if (!result.ok) throw new Error(`${file} ${args[0]}: ${result.why}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
