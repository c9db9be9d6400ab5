import { describe, expect, it } from 'vitest';
import { BodyBudget, MAX_BODY_BYTES } from '../../../../src/server/hooks/body-budget.ts';

async function* parts(...sizes: number[]): AsyncIterable<Uint8Array> {
  for (const size of sizes) yield new Uint8Array(size);
}

async function* broken(): AsyncIterable<Uint8Array> {
  yield new Uint8Array(3);
  throw new Error('gone');
}

const ignore = () => {};

describe('the room for bodies', () => {
  it('is given back when a body is done with, refused or broken', async () => {
    const budget = new BodyBudget({ small: 10, large: 10 });
    const first = await budget.read(parts(4, 4), null, ignore);
    if (typeof first === 'string') throw new Error(first);
    expect(first.body).toHaveLength(8);
    expect(await budget.read(parts(4), null, ignore)).toBe('busy');
    expect(await budget.read(broken(), null, ignore)).toBe('busy');
    first.release();
    first.release();
    expect(await budget.read(broken(), null, ignore)).toBe('broken');
    const second = await budget.read(parts(10), null, ignore);
    expect(typeof second).toBe('object');
    expect(await budget.read(parts(1), null, ignore)).toBe('busy');
  });

  it('of large bodies, and those that say nothing of their size, is not that of small ones', async () => {
    const budget = new BodyBudget({ small: 10, large: 10 });
    await budget.read(parts(10), null, ignore);
    expect(await budget.read(parts(1), MAX_BODY_BYTES, ignore)).toBe('busy');
    expect(await budget.read(parts(8), 8, ignore)).toMatchObject({ body: Buffer.alloc(8) });
  });

  it('is not touched by one that says it is too big', async () => {
    const budget = new BodyBudget();
    expect(await budget.read(broken(), MAX_BODY_BYTES + 1, ignore)).toBe('too-big');
    expect(await budget.read(parts(MAX_BODY_BYTES, 1), null, ignore)).toBe('too-big');
    expect(typeof (await budget.read(parts(MAX_BODY_BYTES), null, ignore))).toBe('object');
  });
});
