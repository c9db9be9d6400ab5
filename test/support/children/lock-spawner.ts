// Takes and lets go guards in a thread while the main thread spawns without pause: after a release the
// guard must be free at once, whatever copies of descriptors a child had for a moment. Says how many
// times it was not. Arguments: the folder of the locks, the time in ms.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Guards } from '../../../src/shared/lock/guard.ts';

if (isMainThread) {
  const [, , dir = '', ms = '1000'] = process.argv;
  const thread = new Worker(new URL(import.meta.url), { workerData: { dir, ms: Number(ms) } });
  const state = { going: true };
  const result = once(thread, 'message').then(([message]) => {
    state.going = false;
    return message as { tries: number; refused: number };
  });
  let spawned = 0;
  const storm = async (): Promise<void> => {
    for (; state.going; spawned += 1) {
      await once(spawn('true', { stdio: 'ignore' }), 'exit');
      await delay(1); // without it, a loop that only spawns never gets to the thread's message
    }
  };
  await Promise.all([storm(), storm(), storm()]);
  process.stdout.write(`${JSON.stringify({ ...(await result), spawned })}\n`);
} else {
  const { dir, ms } = workerData as { dir: string; ms: number };
  const guards = new Guards(dir);
  const end = performance.now() + ms;
  let tries = 0;
  let refused = 0;
  while (performance.now() < end) {
    guards.try('n', 'exclusive')?.release();
    const again = guards.try('n', 'exclusive');
    if (!again) refused += 1;
    again?.release();
    tries += 1;
  }
  parentPort?.postMessage({ tries, refused });
}
