import { describe, expect, it } from 'vitest';
import { KeptRoom } from '../../../../src/server/queue/kept-room.ts';

function room() {
  const clock = { ms: 0 };
  const asking = new Set<string>();
  const kept = new KeptRoom(
    () => clock.ms,
    (process) => asking.has(process),
  );
  return { kept, clock, asking };
}

describe('room that is kept', () => {
  it('is for the earliest run that has none, one a process', () => {
    const { kept } = room();
    expect(kept.keep('p', [3, 5])).toBe(3);
    expect(kept.keep('q', [3, 5])).toBe(5);
    expect(kept.keep('r', [3, 5])).toBeNull();
    expect(kept.list()).toEqual([
      { run: 3, process: 'p' },
      { run: 5, process: 'q' },
    ]);
    expect([kept.keptBy('p'), kept.asked('q'), kept.keptBy('r')]).toEqual([3, 5, null]);
  });

  it('is given up where its run waits for something else, and when its run is dropped', () => {
    const { kept } = room();
    kept.keep('p', [3]);
    expect(kept.keep('p', [])).toBeNull();
    expect(kept.keptBy('p')).toBeNull();
    kept.keep('p', [3]);
    expect([kept.drop(4), kept.drop(3), kept.drop(3)]).toEqual([false, true, false]);
    expect(kept.list()).toEqual([]);
  });

  it('goes to another process where the first asks for nothing any more', () => {
    const { kept, clock, asking } = room();
    kept.keep('p', [3]);
    asking.add('p');
    clock.ms = 100_000;
    expect(kept.asked('p')).toBe(3);
    clock.ms = 200_000;
    expect(kept.keep('q', [3])).toBeNull();
    asking.delete('p');
    expect(kept.list()).toEqual([]);
    expect(kept.asked('p')).toBe(3);
    // from one request to the next
    clock.ms = 205_000;
    expect(kept.keep('q', [3])).toBeNull();
    clock.ms = 205_001;
    expect(kept.keep('q', [3])).toBe(3);
    expect([kept.keptBy('p'), kept.keptBy('q')]).toEqual([null, 3]);
  });
});
