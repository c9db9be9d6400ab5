import { describe, expect, it } from 'vitest';
import { explainWait } from '../../../../src/server/queue/explain-wait.ts';
import type { WaitReason } from '../../../../src/server/store/store.ts';
import { aRun, aSession } from '../../../support/web-parts.ts';

const next: WaitReason = {
  run: 1,
  state: 'queued',
  reasons: [{ code: 'next', text: 'it is the next to be leased' }],
  place: 1,
};
const GIB = 1024 ** 3;
const run = aRun({ state: 'queued', labels: ['linux'], cpus: 4, memoryBytes: 8 * GIB });
const able = aSession({ labels: ['linux'], cpus: 4, memoryBytes: 8 * GIB });
const busy = { id: 9, attempt: 1, repository: 'x/y', job: 'z', since: 0 };

describe('why a run waits, with the sessions', () => {
  it.each([
    ['no-runner', []],
    ['no-runner', [{ ...able, slot: -1 }]],
    ['no-runner', [{ ...able, repos: ['no/*'] }]],
    [
      'labels',
      [
        { ...able, labels: ['mac'] },
        { ...able, repos: ['no/*'] },
      ],
    ],
    [
      'cpus',
      [
        { ...able, cpus: 2 },
        { ...able, labels: [] },
      ],
    ],
    [
      'memory',
      [
        { ...able, memoryBytes: GIB },
        { ...able, cpus: 2 },
      ],
    ],
    ['next', [{ ...able, run: busy }]],
    ['next', [able]],
  ])('is %s', (code, sessions) => {
    expect(explainWait(next, run, sessions).reasons.map((reason) => reason.code)).toEqual([code]);
  });

  it('names what is wanted and what there is', () => {
    const { reasons } = explainWait(next, run, [{ ...able, memoryBytes: GIB }]);
    expect(reasons[0]?.text).toMatch(/wants 8 ?GiB.*has 1 ?GiB/);
  });

  it('says that a slot must become free where all are busy', () => {
    expect(explainWait(next, run, [{ ...able, run: busy }]).reasons[0]?.text).toContain(
      'when a slot is free',
    );
    expect(explainWait(next, run, [able]).reasons[0]?.text).not.toContain('slot');
  });

  it('keeps what the store says after what never passes by itself', () => {
    const wait: WaitReason = { ...next, reasons: [{ code: 'serial', text: 'x' }], place: null };
    expect(explainWait(wait, run, []).reasons.map(({ code }) => code)).toEqual(['no-runner', 'serial']);
    expect(explainWait(wait, run, [able])).toEqual(wait);
  });

  it('adds nothing to a run that waits no more', () => {
    const ended: WaitReason = { run: 1, state: 'running', reasons: [], place: null };
    expect(explainWait(ended, run, [])).toEqual(ended);
  });
});
