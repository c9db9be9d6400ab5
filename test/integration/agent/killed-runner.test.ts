import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ProcessSeats } from '../../../src/runner/dir/process-seats.ts';
import { sweep } from '../../../src/runner/sweep/sweep.ts';
import {
  isAlive,
  pidNamespace,
  processesWithEnvPrefix,
  processName,
  processStat,
  signalProcess,
  withDescendants,
} from '../../../src/shared/platform/processes.ts';
import { childFile } from '../../support/lock-children.ts';
import { ModelServer } from '../../support/model-server.ts';
import { CacheRig } from '../../support/runner-dir-rig.ts';
import { Cleanup } from '../../support/temp.ts';
import { until } from '../../support/until.ts';

let cleanup: Cleanup;
let rig: CacheRig;
let url: string;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await CacheRig.open(path.join(cleanup.tempDir('vole-agent-'), 'dir'), cleanup);
  const model = await ModelServer.start();
  cleanup.defer(() => model.close());
  url = model.url;
});
afterEach(() => cleanup.run());

interface Owner {
  readonly runner: ChildProcess;
  readonly server: number;
  readonly left: number;
}

async function owner(how: 'namespaced' | 'plain', prefix: readonly string[] = []): Promise<Owner> {
  const child = [process.execPath, childFile('agent-owner'), rig.dir.layout.root, url, how];
  const [file = '', ...args] = [...prefix, ...child];
  const runner = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanup.defer(() => void runner.kill('SIGKILL'));
  const [said] = (await once(runner.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const { server, left } = JSON.parse(said.toString()) as { server: number; left: number };
  cleanup.defer(() => void signalProcess(left, 'SIGKILL'));
  return { runner, server, left };
}

const below = (pid: number): number[] => {
  const stat = processStat(pid);
  return stat ? withDescendants([stat]).map(({ pid }) => pid) : [];
};
const living = (pids: readonly number[]): number[] => pids.filter((pid) => isAlive(processStat(pid)));

async function killed(runner: ChildProcess): Promise<void> {
  const ended = once(runner, 'exit');
  runner.kill('SIGKILL');
  await ended;
}

it.each(['namespaced', 'plain'] as const)(
  'a server ends with its runner that is killed (%s)',
  async (how) => {
    const { runner, server } = await owner(how);
    const all = below(server);
    expect(all.length).toBeGreaterThan(1);
    await killed(runner);
    await until('the server to be gone', () => living(all).length === 0, 5_000);
  },
);

it.runIf(process.getuid?.() === 0)(
  'a server of a runner that is not root has a pid namespace all the same, and ends with it',
  async () => {
    execFileSync('chown', ['-R', '65534:65534', path.dirname(rig.dir.layout.root)]);
    const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    const { runner, server } = await owner('namespaced', nobody);
    const all = below(server);
    const namespaces = new Set(all.map((pid) => readlinkSync(`/proc/${pid}/ns/pid`)));
    expect([namespaces.size, namespaces.has(pidNamespace())]).toEqual([2, true]);
    expect(readFileSync(`/proc/${all.at(-1)}/status`, 'utf8')).toMatch(/^Uid:\t65534\t65534/m);
    await killed(runner);
    await until('the server to be gone', () => living(all).length === 0, 5_000);
  },
);

it('what outlives it all the same is ended by the next start, before it returns, and a living one’s is not', async () => {
  const { runner, server, left } = await owner('plain');
  const other = await owner('plain');
  const all = below(server);
  // As when memory ran out: who would end it with its runner is gone before. The outer one last, since the
  // runner closes the pipe that the inner one reads when that has ended.
  const keepers = all.filter((pid) => processName(pid) !== 'opencode');
  for (const pid of keepers.toReversed()) signalProcess(pid, 'SIGKILL');
  await until('who keeps it to be gone', () => living(keepers).length === 0);
  await killed(runner);
  const still = living([...all, left]);
  expect(still).toHaveLength(2);
  new ProcessSeats(rig.dir).take('next');
  await sweep(rig.dir, rig.trash, 'next');
  expect(living(still)).toEqual([]);
  expect(living([other.server, other.left])).toHaveLength(2);
  await killed(other.runner);
  await sweep(rig.dir, rig.trash, 'next');
  expect(processesWithEnvPrefix('VOLE_JOB_MARKER', `${rig.dir.id}/`)).toEqual([]);
});
