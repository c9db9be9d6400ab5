import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { newKeyPair } from '../../runner/session/keys.ts';
import type { RunningServer } from '../../server/server.ts';
import { VoleError } from '../../shared/errors.ts';
import { startProgram } from '../../shared/platform/program.ts';
import { parsePublicKey } from '../../shared/public-key.ts';
import type { Environment } from '../../shared/settings/resolve.ts';

export interface BenchRunner {
  readonly pid: number;
  stop(): Promise<void>;
}

const READY_MS = 30_000;

/** `vole runner` as a process of its own, ready and connected. */
export async function benchRunner(
  server: RunningServer,
  dir: string,
  jobs: number,
  env: Environment,
): Promise<BenchRunner> {
  const key = newKeyPair();
  const parsed = parsePublicKey(key.publicKey);
  if (!parsed.ok) throw new VoleError('internal', parsed.fault);
  await server.store.accounts.addKey('bench', parsed.key.publicKey, parsed.key.fingerprint);
  const keyFile = path.join(path.dirname(dir), 'key');
  writeFileSync(keyFile, key.privateKey, { mode: 0o600 });
  const bin = fileURLToPath(new URL('../bin/vole.cjs', import.meta.url));
  const address = `ssh://bench@${server.ssh.host}:${server.ssh.port}`;
  const args = [bin, 'runner', '--server', address, '--key', keyFile, '--host-key', server.fingerprint];
  const runner = startProgram(
    process.execPath,
    [...args, '--dir', dir, '--jobs', String(jobs), '--log-level', 'warn'],
    {
      PATH: env['PATH'] ?? '',
      HOME: env['HOME'] ?? '/',
    },
  );
  if (!(await runner.firstLine(READY_MS))) {
    await runner.stop();
    throw new VoleError('internal', `the runner of the bench did not start: ${runner.errors()}`);
  }
  return { pid: runner.pid, stop: () => runner.stop() };
}
