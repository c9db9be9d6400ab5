// Holds guards as it is told: a JSON line in, a JSON line out, by the main thread or by threads of this
// same file. Arguments: the folder of the locks.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Guards } from '../../../src/shared/lock/guard.ts';
import type { HeldGuard } from '../../../src/shared/lock/types.ts';
import type { HolderAnswer, HolderAsk } from '../lock-children.ts';

const dir = isMainThread ? (process.argv[2] ?? '') : (workerData as string);
const guards = new Guards(dir);
const held = new Map<string, HeldGuard>();
const waits = new Map<string, AbortController>();
const threads = new Map<string, Worker>();

function say(answer: HolderAnswer): void {
  if (parentPort) parentPort.postMessage(answer);
  else process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function answer({
  id,
  what,
  name = '',
  mode = 'exclusive',
  ms = 0,
  as = name,
}: HolderAsk): Promise<void> {
  switch (what) {
    case 'try': {
      const guard = guards.try(name, mode);
      if (guard) held.set(as, guard);
      return say({ id, result: guard ? 'granted' : 'refused' });
    }
    case 'wait': {
      const stop = new AbortController();
      waits.set(as, stop);
      try {
        held.set(as, await guards[mode](name, { signal: stop.signal }));
        return say({ id, result: 'granted' });
      } catch {
        return say({ id, result: 'aborted' });
      }
    }
    case 'abort':
      waits.get(as)?.abort();
      return say({ id, result: 'done' });
    case 'release':
      held.get(as)?.release();
      return say({ id, result: 'done' });
    case 'block': {
      say({ id, result: 'done' });
      const end = performance.now() + ms;
      while (performance.now() < end) Math.sqrt(2); // nothing else runs on this thread meanwhile
      return;
    }
    case 'throw':
      setImmediate(() => {
        throw new Error('on purpose');
      });
      return;
    case 'exit':
      process.exit(0); // of a thread: ends the thread alone
      return;
    case 'terminate':
      await threads.get(as)?.terminate();
      return say({ id, result: 'done' });
    default:
      what satisfies never;
  }
}

async function ask(question: HolderAsk): Promise<void> {
  if (question.thread === undefined) return await answer(question);
  let thread = threads.get(question.thread);
  if (!thread) {
    thread = new Worker(new URL(import.meta.url), { workerData: dir });
    thread.on('message', say);
    thread.on('error', () => {});
    threads.set(question.thread, thread);
    await once(thread, 'online');
  }
  thread.postMessage({ ...question, thread: undefined });
}

if (parentPort) {
  parentPort.on('message', (question: HolderAsk) => void answer(question));
} else {
  createInterface({ input: process.stdin }).on('line', (line) => void ask(JSON.parse(line) as HolderAsk));
  say({ id: 0, result: 'done' });
}
