import { expect, test } from 'vitest';
import { Decoder, encodeLine } from '../../../../src/shared/protocol/codec.ts';
import { LIMITS, type RunnerMessage, runnerMessageSchema } from '../../../../src/shared/protocol/messages.ts';

const SMALL = { lineBytes: 200, frameBytes: 64 };

function decoder(limits: { lineBytes: number; frameBytes: number } = LIMITS) {
  return new Decoder(runnerMessageSchema, limits);
}

function log(offset: number, bytes: number): RunnerMessage {
  return { type: 'log', run: 1, attempt: 1, offset, bytes };
}

/** A small generator with a seed, so that a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

test('any split of the stream gives the same messages and the same bytes', () => {
  const frames = [
    { message: { type: 'heartbeat', run: 7, attempt: 2 } as const, bytes: Buffer.alloc(0) },
    { message: log(0, 0), bytes: Buffer.alloc(0) },
    { message: log(0, 5), bytes: Buffer.from('a\n{"b') },
    { message: log(5, 300), bytes: Buffer.alloc(300, 0x0a) },
    {
      message: {
        type: 'lease',
        key: 'schlüssel€',
        waitSeconds: 1,
        freeCpus: 1,
        freeMemoryBytes: 0,
        accept: true,
      } as const,
      bytes: Buffer.alloc(0),
    },
    { message: { type: 'bye' } as const, bytes: Buffer.alloc(0) },
  ];
  const stream = Buffer.concat(frames.flatMap(({ message, bytes }) => [encodeLine(message), bytes]));
  const expected = frames.map(({ message, bytes }) => ({ ok: true, message, bytes }));
  for (let seed = 1; seed <= 300; seed++) {
    const below = randomFrom(seed);
    const parser = decoder();
    const found = [];
    for (let at = 0; at < stream.length; ) {
      const size = 1 + below(seed % 3 === 0 ? 3 : 200);
      found.push(...parser.push(stream.subarray(at, at + size)));
      at += size;
    }
    expect(found, `seed ${seed}`).toEqual(expected);
    expect(parser.heldBytes).toBe(0);
  }
});

test('bytes that were given out are not written over by what comes later', () => {
  const parser = decoder();
  const [first] = parser.push(Buffer.concat([encodeLine(log(0, 3)), Buffer.from('abc')]));
  parser.push(Buffer.concat([encodeLine(log(3, 3)), Buffer.from('xyz')]));
  expect(first?.ok && first.bytes.toString()).toBe('abc');
});

test('a line over the limit is a fault before its end has come, and is not kept', () => {
  const parser = decoder(SMALL);
  expect(parser.push(Buffer.alloc(150, 'a'))).toEqual([]);
  expect(parser.heldBytes).toBe(150);
  expect(parser.push(Buffer.alloc(100, 'a'))).toMatchObject([
    { ok: false, fault: { reason: 'line-too-long' } },
  ]);
  expect(parser.heldBytes).toBe(0);
});

test('a line of exactly the limit is taken', () => {
  const line = Buffer.from(`{"type":"bye"}${' '.repeat(200 - 14)}\n`);
  expect(decoder(SMALL).push(line)).toMatchObject([{ ok: true, message: { type: 'bye' } }]);
  const longer = Buffer.from(`{"type":"bye"}${' '.repeat(201 - 14)}\n`);
  expect(decoder(SMALL).push(longer)).toMatchObject([{ ok: false, fault: { reason: 'line-too-long' } }]);
});

test('a line drips in by single bytes without costing more than the line', () => {
  const parser = decoder({ lineBytes: 1_000_000, frameBytes: 64 });
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < 500_000; at++) parser.push(Buffer.from([0x61]));
  expect(parser.heldBytes).toBe(500_000);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024);
});

test.each([
  ['not-json', 'hello there\n'],
  ['not-json', '\n'],
  ['not-json', '\x00\xff\xfe\n'],
  ['bad-message', '"hello"\n'],
  ['bad-message', 'null\n'],
  ['bad-message', '{"type":"dance"}\n'],
  ['bad-message', '{"type":"heartbeat","run":-1,"attempt":1}\n'],
  ['bad-message', '{"type":"log","run":1,"attempt":1,"offset":0,"bytes":-1}\n'],
  ['bad-message', '{"type":"log","run":1,"attempt":1,"offset":0,"bytes":1.5}\n'],
  ['bad-message', '{"type":"log","run":1,"attempt":1,"offset":0,"bytes":"9"}\n'],
  ['frame-too-large', '{"type":"log","run":1,"attempt":1,"offset":0,"bytes":65}\n'],
])('%s: %j', (reason, text) => {
  expect(decoder(SMALL).push(Buffer.from(text, 'latin1'))).toMatchObject([{ ok: false, fault: { reason } }]);
});

test('what came before a fault is given, and nothing after it', () => {
  const parser = decoder(SMALL);
  const bye = '{"type":"bye"}\n';
  expect(parser.push(Buffer.from(`${bye}rubbish\n${bye}`))).toMatchObject([
    { ok: true, message: { type: 'bye' } },
    { ok: false, fault: { reason: 'not-json' } },
  ]);
  expect(parser.push(Buffer.from(bye))).toEqual([]);
});
