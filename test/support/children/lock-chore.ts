// Takes a chore and says what becomes of it, a line each. Arguments: the folder of the locks.
import { writeSync } from 'node:fs';
import { runChore } from '../../../src/shared/lock/chore.ts';

const say = (line: string): void => void writeSync(1, `${line}\n`);
const end = await runChore(process.argv[2] ?? '', 'test', async (robbed) => {
  say('has it');
  await new Promise<void>((resolve) => {
    const lives = setInterval(() => {}, 1_000);
    const stop = (): void => {
      clearInterval(lives);
      resolve();
    };
    process.stdin.once('data', stop);
    robbed.addEventListener('abort', stop, { once: true });
  });
  process.stdin.unref?.();
});
say(`end: ${end}`);
