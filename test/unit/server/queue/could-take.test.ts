import { expect, it } from 'vitest';
import { couldTake } from '../../../../src/server/queue/could-take.ts';

const slot = { labels: ['linux', 'gpu'], repos: ['team/*'], cpus: 4, memoryBytes: 100 };
const wanted = { repository: 'team/app', labels: ['gpu'], cpus: 4, memoryBytes: 100 };

it('a slot could take a run of a repository that it takes, whose labels it has and that fits into all of it', () => {
  expect(couldTake(slot, wanted)).toBe(true);
  expect(couldTake({ ...slot, repos: [] }, { ...wanted, labels: [] })).toBe(true);
});

it.each([{ repository: 'other/app' }, { labels: ['gpu', 'big'] }, { cpus: 4.001 }, { memoryBytes: 101 }])(
  'it could not where %o',
  (change) => {
    expect(couldTake(slot, { ...wanted, ...change })).toBe(false);
  },
);
