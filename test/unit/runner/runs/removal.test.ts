import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Afterwards } from '../../../../src/runner/runs/afterwards.ts';
import { Removal } from '../../../../src/runner/runs/removal.ts';

function removalOf(answers: (string | null)[]) {
  const said: string[] = [];
  const removal = new Removal({
    remove: async () => {
      said.push('remove');
      return answers.shift() ?? null;
    },
    release: () => void said.push('release'),
    leave: ({ reported }) => void said.push(reported ? 'dispose' : 'keep'),
    warn: (what) => void said.push(what),
  });
  return { removal, said };
}

it('a removal lets the guards go once it is done, and the tree once the run is reported too', async () => {
  const { removal, said } = removalOf([]);
  const done = removal.go();
  await removal.tried;
  await turn();
  expect(said).toEqual(['remove', 'release']);
  removal.ended({ reported: true });
  expect(await done).toBe(true);
  expect(said).toEqual(['remove', 'release', 'dispose']);
});

it('one that fails keeps both until it is tried again, and says why once', async () => {
  const { removal, said } = removalOf(['away', 'away']);
  removal.ended({ reported: true });
  expect(await removal.go()).toBe(false);
  expect(await removal.go()).toBe(false);
  expect(said).toEqual(['remove', expect.stringContaining('away'), 'remove']);
  expect(await removal.go()).toBe(true);
  expect(said.slice(-3)).toEqual(['remove', 'release', 'dispose']);
});

it('the tree of a run that was not reported stays', async () => {
  const { removal, said } = removalOf([]);
  removal.ended({ reported: false });
  expect(await removal.go()).toBe(true);
  expect(said).toEqual(['remove', 'release', 'keep']);
});

it('a slot waits where as many removals as slots are tried for the first time', async () => {
  const afterwards = new Afterwards(2);
  const ends: ((done: boolean) => void)[] = [];
  const work = (): Promise<boolean> => new Promise((resolve) => ends.push(resolve));
  afterwards.add(work);
  await afterwards.room();
  afterwards.add(work);
  let room = false;
  const waiting = afterwards.room().then(() => {
    room = true;
  });
  await turn();
  expect(room).toBe(false);
  // One that has failed once may take for ever, and holds nobody up.
  ends[0]?.(false);
  await waiting;
  ends[1]?.(true);
  await afterwards.close();
});
