import { describe, expect, it } from 'vitest';
import { explainWait } from '../../../../src/server/queue/explain-wait.ts';
import type { WaitReason } from '../../../../src/server/store/store.ts';
import { AGENT_LABEL } from '../../../../src/shared/agent/spec.ts';
import { aRun, aSession } from '../../../support/web-parts.ts';

const next: WaitReason = {
  run: 1,
  state: 'queued',
  reasons: [{ code: 'next', text: 'it is the next to be leased' }],
  place: 1,
};
const NOW = 1_000_000;
const GIB = 1024 ** 3;
const run = aRun({ state: 'queued', labels: ['linux'], cpus: 4, memoryBytes: 8 * GIB });
const able = aSession({ labels: ['linux'], cpus: 4, memoryBytes: 8 * GIB });
const busy = { id: 9, attempt: 1, repository: 'x/y', job: 'z', since: 0, cpus: 1, memoryBytes: GIB };

function explain(wait: WaitReason, sessions: readonly ReturnType<typeof aSession>[]) {
  return explainWait(wait, run, { sessions, kept: [], nowMs: NOW });
}

describe('why a run waits, with the sessions', () => {
  it('names the setting that a runner for agents has', () => {
    const agent = aRun({ state: 'queued', labels: [AGENT_LABEL] });
    const [reason] = explainWait(next, agent, { sessions: [able], kept: [], nowMs: NOW }).reasons;
    expect(reason?.text).toBe(
      'no connected runner has the labels vole:agent: that of agents has a runner with --agent-url',
    );
  });

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
    ['paused', [{ ...able, silentSince: NOW - 60_000 }]],
    ['next', [{ ...able, silentSince: NOW - 100 }]],
    ['next', [{ ...able, silentSince: NOW - 60_000 }, able]],
    [
      'next',
      [
        { ...able, silentSince: NOW - 60_000 },
        { ...able, run: busy },
      ],
    ],
  ])('is %s', (code, sessions) => {
    expect(explain(next, sessions).reasons.map((reason) => reason.code)).toEqual([code]);
  });

  it('has no place where it cannot be leased now', () => {
    expect(explain(next, []).place).toBeNull();
    expect(explain(next, [{ ...able, labels: [] }]).place).toBeNull();
    expect(explain(next, [{ ...able, silentSince: 0 }]).place).toBeNull();
    expect(explain(next, [able]).place).toBe(1);
  });

  it('names what is wanted and what there is', () => {
    const { reasons } = explain(next, [{ ...able, memoryBytes: GIB }]);
    expect(reasons[0]?.text).toMatch(/wants 8 ?GiB.*has 1 ?GiB/);
  });

  it('says that a slot must become free where all are busy', () => {
    expect(explain(next, [{ ...able, run: busy }]).reasons[0]?.text).toContain('when a slot is free');
    expect(explain(next, [able]).reasons[0]?.text).not.toContain('slot');
  });

  it('says what must become free beside a slot that is idle', () => {
    const holder = { ...able, id: 'p1-a', run: { ...busy, cpus: 1.5, memoryBytes: 2 * GIB } };
    const idle = { ...able, id: 'p1-b' };
    expect(explain(next, [holder, idle])).toMatchObject({ place: 1 });
    expect(explain(next, [holder, idle]).reasons[0]?.text).toBe(
      'it is the next to be leased, when 4 cpus are free: beside an idle slot 2.5 are now',
    );
    const large = { ...idle, cpus: 8 };
    expect(explain(next, [{ ...holder, cpus: 8 }, large]).reasons[0]?.text).toMatch(
      /, when 8 ?GiB of memory are free: beside an idle slot 6 ?GiB are now$/,
    );
    const elsewhere = { ...able, id: 'p2-c' };
    expect(explain(next, [holder, idle, elsewhere])).toEqual(next);
  });

  it('says where room is kept for it, and for which run it must wait', () => {
    const idle = { ...able, id: 'p1-a', machine: 'host7' };
    const around = (kept: { run: number; process: string }[], ...sessions: (typeof idle)[]) =>
      explainWait(next, run, { sessions, kept, nowMs: NOW }).reasons[0]?.text;
    expect(around([{ run: 1, process: 'p1' }], idle)).toBe(
      'it is the next to be leased, when there is room in a runner on host7, which takes no later run until then',
    );
    const later = { ...next, run: 5 };
    const text = (sessions: (typeof idle)[]) =>
      explainWait(later, run, { sessions, kept: [{ run: 3, process: 'p1' }], nowMs: NOW }).reasons[0]?.text;
    expect(text([idle])).toMatch(/, when run 3 has begun, for which room is kept$/);
    expect(text([idle, { ...idle, id: 'p2-b' }])).toBe('it is the next to be leased');
    expect(around([{ run: 3, process: 'p1' }], idle)).toBe('it is the next to be leased');
  });

  it('keeps what the store says after what never passes by itself', () => {
    const wait: WaitReason = { ...next, reasons: [{ code: 'serial', text: 'x' }], place: null };
    expect(explain(wait, []).reasons.map(({ code }) => code)).toEqual(['no-runner', 'serial']);
    expect(explain(wait, [able])).toEqual(wait);
  });

  it('adds nothing to a run that waits no more', () => {
    const ended: WaitReason = { run: 1, state: 'running', reasons: [], place: null };
    expect(explain(ended, [])).toEqual(ended);
  });
});
