// A worker thread that takes a guard, says so, and then holds, throws, exits, or waits for a second one.
import { parentPort, workerData } from 'node:worker_threads';
import { Guards } from '../../../src/shared/lock/guard.ts';

const { dir, name, mode, next } = workerData as {
  dir: string;
  name: string;
  mode: 'shared' | 'exclusive';
  next: 'hold' | 'throw' | 'exit' | 'wait';
};
const guards = new Guards(dir);
if (next === 'wait') {
  parentPort?.postMessage('waiting');
  await guards[mode](name);
  parentPort?.postMessage('granted');
} else {
  const guard = guards.try(name, mode);
  parentPort?.postMessage(guard ? 'granted' : 'refused');
  parentPort?.on('message', () => {
    if (next === 'throw') throw new Error('as the test wants');
    if (next === 'exit') process.exit(3);
  });
}
