// Takes and lets go a guard in a thread, without pause, while the main thread spawns: after a release the
// guard must be free at once, whatever copies of descriptors a child had for a moment. Says how many
// times it was not. Arguments: the folder of the locks, how many children.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Guards } from '../../../src/shared/lock/guard.ts';

if (isMainThread) {
  const [, , dir = '', children = ''] = process.argv;
  const going = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(new URL(import.meta.url), { workerData: { dir, going } });
  await once(thread, 'message');
  for (let spawned = 0; spawned < Number(children); spawned += 1) {
    await once(spawn('true', { stdio: 'ignore' }), 'exit');
  }
  Atomics.store(going, 0, 1);
  const [result] = (await once(thread, 'message')) as [object];
  process.stdout.write(`${JSON.stringify(result)}\n`);
} else {
  const { dir, going } = workerData as { dir: string; going: Int32Array };
  const guards = new Guards(dir);
  parentPort?.postMessage('begun');
  let tries = 0;
  let refused = 0;
  while (Atomics.load(going, 0) === 0) {
    guards.try('n', 'exclusive')?.release();
    const again = guards.try('n', 'exclusive');
    if (!again) refused += 1;
    again?.release();
    tries += 1;
  }
  parentPort?.postMessage({ tries, refused });
}
