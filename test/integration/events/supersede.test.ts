import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig } from '../../support/event-rig.ts';
import { pullPayload, pushPayload } from '../../support/payloads.ts';
import { aClaim, outcome } from '../../support/store-rig.ts';

const WORKFLOW = `jobs:
  slow: {supersede: true, steps: [{run: "true"}]}
  after: {needs: [slow], steps: [{run: "true"}]}
  keep: {steps: [{run: "true"}]}
`;

let rig: EventRig;
beforeEach(async () => (rig = await EventRig.start()));
afterEach(() => rig.close());

async function push(after: string, ref = 'refs/heads/main'): Promise<void> {
  await rig.deliver('push', pushPayload({ ref, after }));
  await rig.settled();
}

async function states(): Promise<string[]> {
  return (await rig.runs()).map(({ pipeline, job, state }) => `${pipeline} ${job} ${state}`);
}

describe('a newer push', () => {
  it('ends queued runs of the same branch whose jobs say `supersede`, and what needs them', async () => {
    await push(rig.source.commit({ '.vole.yml': WORKFLOW }));
    await push(rig.source.commit({ a: '1' }));
    expect(await states()).toEqual([
      '1 slow cancelled',
      '1 after cancelled',
      '1 keep queued',
      '2 slow queued',
      '2 after queued',
      '2 keep queued',
    ]);
    expect((await rig.runs())[0]?.detail).toBe('superseded by pipeline 2');
  });

  it('leaves alone what runs, what has ended, and other branches', async () => {
    const { runs } = rig.server.store;
    await push(rig.source.commit({ '.vole.yml': WORKFLOW }));
    rig.source.git('checkout', '-q', '-b', 'other');
    await push(rig.source.commit({ b: '1' }), 'refs/heads/other');
    rig.source.git('checkout', '-q', 'main');
    const running = await runs.claim(aClaim());
    expect(running?.run).toBe(1);
    await push(rig.source.commit({ a: '1' }));
    expect((await states()).slice(0, 6)).toEqual([
      '1 slow running',
      '1 after queued',
      '1 keep queued',
      '2 slow queued',
      '2 after queued',
      '2 keep queued',
    ]);
    expect((await runs.get(1))?.cancelWhy).toBeNull();
    await runs.record('build1', 1, 1, outcome('passed'), 0);
    await push(rig.source.commit({ a: '2' }));
    expect((await states())[0]).toBe('1 slow passed');
  });

  it('whose delivery comes after that of a newer one ends nothing', async () => {
    const older = rig.source.commit({ '.vole.yml': WORKFLOW });
    const newer = rig.source.commit({ a: '1' });
    await push(newer);
    await push(older);
    expect((await states()).slice(0, 3)).toEqual(['1 slow queued', '1 after queued', '1 keep queued']);
  });

  it('ends a retry of an earlier one, which itself ended none', async () => {
    const { runs } = rig.server.store;
    await push(rig.source.commit({ '.vole.yml': WORKFLOW }));
    await runs.cancel(1, 'not now');
    await push(rig.source.commit({ a: '1' }));
    expect(await runs.retry({ pipeline: 1, runs: [1] })).toEqual({ pipeline: 3, runs: [7, 8] });
    expect((await states()).slice(3)).toEqual([
      '2 slow queued',
      '2 after queued',
      '2 keep queued',
      '3 slow queued',
      '3 after queued',
    ]);
    await push(rig.source.commit({ a: '2' }));
    expect((await states()).slice(6, 8)).toEqual(['3 slow cancelled', '3 after cancelled']);
    expect((await rig.runs())[6]?.detail).toBe('superseded by pipeline 4');
  });

  it('that asks to be skipped ends nothing', async () => {
    await push(rig.source.commit({ '.vole.yml': WORKFLOW }));
    await push(rig.source.commit({ a: '1' }, '[skip ci]'));
    expect(await states()).toEqual(['1 slow queued', '1 after queued', '1 keep queued']);
  });
});

it('new commits of a pull request end what is queued of the ones before', async () => {
  rig.source.commit({ '.vole.yml': WORKFLOW });
  rig.source.git('checkout', '-q', '-b', 'change');
  const change = async (file: string, action: string) => {
    const sha = rig.source.commit({ [file]: '1' });
    rig.source.git('update-ref', 'refs/pull/7/head', sha);
    await rig.deliver('pull_request', pullPayload({ sha, action, number: 7 }));
    await rig.settled();
  };
  await change('a', 'opened');
  await change('b', 'synchronized');
  expect((await states()).slice(0, 4)).toEqual([
    '1 slow cancelled',
    '1 after cancelled',
    '1 keep queued',
    '2 slow queued',
  ]);
});
