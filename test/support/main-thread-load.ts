import { readFileSync } from 'node:fs';

/** How long this process's main thread has run so far, in ms of its own: others of the machine do not count. */
function ranMs(): number {
  const [ns = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
  return Number(ns) / 1e6;
}

/**
 * The longest that the main thread worked without letting the event loop turn while something went on.
 * In its own running time, since on a busy machine the loop stands still for other reasons too.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = ranMs();
  const look = (): void => {
    const now = ranMs();
    longest = Math.max(longest, now - before);
    before = now;
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}
