import { describe, expect, it } from 'vitest';
import { FreeCapacity } from '../../../../src/server/queue/free-capacity.ts';
import { newSessionId, processOf, siblingsOf } from '../../../../src/server/queue/session-id.ts';

const TOTAL = { cpus: 4, memoryBytes: 400 };

function held(cpus: number) {
  return { cpus, memoryBytes: cpus * 100 };
}

describe('what is free for a request', () => {
  it('is what it said, less what its process was given since', () => {
    const free = new FreeCapacity(held(3), TOTAL);
    expect(free.given(held(1))).toEqual(held(3));
    expect(free.given(held(3))).toEqual(held(1));
  });

  it('is more when a job has ended since', () => {
    const free = new FreeCapacity(held(1), TOTAL);
    expect(free.given(held(3))).toEqual(held(1));
    expect(free.given(held(0))).toEqual(held(4));
  });

  it('leaves out what the runner holds and the server does not know of', () => {
    const free = new FreeCapacity(held(1), TOTAL);
    expect(free.given(held(0))).toEqual(held(1));
    expect(free.given(held(1))).toEqual(held(0));
  });

  it('is no more than what the jobs of the process leave of it, also of one it did not know of', () => {
    expect(new FreeCapacity(held(4), TOTAL).given(held(3))).toEqual(held(1));
    expect(new FreeCapacity(held(9), TOTAL).given(held(0))).toEqual(TOTAL);
  });
});

describe('the id of a session', () => {
  const session = { account: 'a', machine: 'm', process: 'p' };

  it('is another one each time, and tells its process', () => {
    const [one, two] = [newSessionId(session), newSessionId(session)];
    expect(one).not.toBe(two);
    expect(processOf(one)).toBe(processOf(two));
    for (const change of [
      { account: 'b' },
      { machine: 'n' },
      { process: 'q' },
      { account: 'am', machine: '' },
    ])
      expect(processOf(newSessionId({ ...session, ...change }))).not.toBe(processOf(one));
  });

  it('lies between the bounds of its process and outside of all others', () => {
    const id = newSessionId(session);
    const { from, to } = siblingsOf(newSessionId(session));
    expect(from < id && id < to).toBe(true);
    for (let at = 0; at < 50; at++) {
      const other = newSessionId({ ...session, process: String(at) });
      expect(from < other && other < to).toBe(false);
    }
  });
});
