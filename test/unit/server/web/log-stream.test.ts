import { describe, expect, it } from 'vitest';
import type { Run } from '../../../../src/server/store/store.ts';
import { attemptOver, type LogSource, logStream } from '../../../../src/server/web/log-stream.ts';

/** One log and one run in memory, with the events that the real ones have. */
class Source implements LogSource {
  bytes = Buffer.alloc(0);
  run = { state: 'running', attempt: 1 } as Run;
  reads = 0;
  readonly growth = new Set<() => void>();
  readonly change = new Set<(run: number) => void>();

  readonly store = { runs: { get: async () => this.run } };
  readonly queue = {
    onChange: (listener: (run: number) => void) => {
      this.change.add(listener);
      return () => this.change.delete(listener);
    },
  };
  readonly logs = {
    read: async (_run: number, _attempt: number, offset: number, maxBytes: number) => {
      this.reads += 1;
      return this.bytes.subarray(offset, offset + maxBytes);
    },
    onGrowth: (_run: number, _attempt: number, listener: () => void) => {
      this.growth.add(listener);
      return () => this.growth.delete(listener);
    },
  };

  append(text: string): void {
    this.bytes = Buffer.concat([this.bytes, Buffer.from(text)]);
    for (const listener of this.growth) listener();
  }
  become(run: Partial<Run>): void {
    this.run = { ...this.run, ...run };
    for (const listener of this.change) listener(7);
  }
}

function follow(
  source: Source,
  offset = 0,
  closing = new AbortController().signal,
  endBytes: number | null = null,
) {
  const errors: unknown[] = [];
  const stream = logStream(
    source,
    { run: 7, attempt: 1, offset, endBytes },
    { closing, breakOff: (e) => errors.push(e) },
  );
  return { reader: stream.getReader(), errors };
}

async function text(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | null> {
  const { done, value } = await reader.read();
  return done ? null : Buffer.from(value).toString();
}

describe('a log that is followed', () => {
  it('gives what is there, what comes, and ends when the run has', async () => {
    const source = new Source();
    source.append('one\n');
    const { reader } = follow(source);
    expect(await text(reader)).toBe('one\n');
    const later = text(reader);
    source.append('two\n');
    expect(await later).toBe('two\n');
    const end = text(reader);
    source.become({ state: 'passed' });
    expect(await end).toBeNull();
    expect([source.growth.size, source.change.size]).toEqual([0, 0]);
  });

  it('gives what came with the end itself', async () => {
    const source = new Source();
    const { reader } = follow(source);
    const first = text(reader);
    source.bytes = Buffer.from('last words\n'); // no growth event: the end is the only one
    source.become({ state: 'failed' });
    expect(await first).toBe('last words\n');
    expect(await text(reader)).toBeNull();
  });

  it('starts at the offset', async () => {
    const source = new Source();
    source.append('0123456789');
    expect(await text(follow(source, 4).reader)).toBe('456789');
  });

  it('is not read ahead of a reader that does not read', async () => {
    const source = new Source();
    source.append('x'.repeat(10 * 1024 * 1024));
    const { reader } = follow(source);
    await new Promise(setImmediate);
    expect(source.reads).toBe(0);
    expect((await text(reader))?.length).toBe(64 * 1024);
    await new Promise(setImmediate);
    expect(source.reads).toBe(1);
  });

  it('is broken off when the server closes, and lets go when the reader leaves', async () => {
    const source = new Source();
    const closing = new AbortController();
    const { reader, errors } = follow(source, 0, closing.signal);
    const waiting = text(reader);
    closing.abort();
    expect(await waiting).toBeNull();
    expect(errors).toEqual([null]);

    const other = follow(source).reader;
    await new Promise(setImmediate);
    expect(source.growth.size).toBe(0); // nothing was asked for yet, as after HEAD
    const pending = other.read();
    await new Promise(setImmediate);
    expect(source.growth.size).toBe(1);
    await other.cancel();
    await pending;
    expect([source.growth.size, source.change.size]).toEqual([0, 0]);
  });

  it('reports a read that fails', async () => {
    const source = new Source();
    const failure = new Error('EIO');
    source.logs.read = async () => {
      throw failure;
    };
    const { reader, errors } = follow(source);
    expect(await text(reader)).toBeNull();
    expect(errors).toEqual([failure]);
  });

  it('without follow ends at its end and subscribes to nothing', async () => {
    const source = new Source();
    source.append('0123456789');
    const { reader } = follow(source, 2, new AbortController().signal, 6);
    expect(source.growth.size).toBe(0);
    expect(await text(reader)).toBe('2345');
    expect(await text(reader)).toBeNull();
  });
});

describe('an attempt', () => {
  it.each([
    ['running', 1, 1, false],
    ['queued', 0, 1, false],
    ['passed', 1, 1, true],
    ['queued', 1, 1, true],
    ['queued', 1, 2, false],
    ['running', 2, 1, true],
    ['cancelled', 0, 1, true],
  ] as const)('of a run that is %s at attempt %d: attempt %d over is %s', (state, attempt, asked, over) => {
    expect(attemptOver({ state, attempt }, asked)).toBe(over);
  });
});
