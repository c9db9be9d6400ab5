import { expect, test } from 'vitest';
import { Conversation, mayArrive } from '../../../../src/server/ssh/conversation.ts';
import type { Answer } from '../../../../src/server/ssh/runner-session.ts';
import { encodeLine } from '../../../../src/shared/protocol/codec.ts';
import { LIMITS, type RunnerMessage } from '../../../../src/shared/protocol/messages.ts';

function start(answer: (message: RunnerMessage) => Promise<Answer>) {
  const said: unknown[] = [];
  const events: string[] = [];
  const conversation = new Conversation({
    limits: { ...LIMITS, stallMs: 50 },
    answer,
    withdraw: () => events.push('withdraw'),
    onFault: (why) => events.push(`fault: ${why}`),
    wire: {
      write: async (bytes) => void said.push(JSON.parse(bytes.toString())),
      pause: () => events.push('pause'),
      resume: () => {},
      end: () => events.push('end'),
    },
  });
  const send = (...messages: RunnerMessage[]) =>
    conversation.receive(Buffer.concat(messages.map(encodeLine)));
  return { conversation, said, events, send };
}

const beat = (run: number): RunnerMessage => ({ type: 'heartbeat', run, attempt: 1 });
const lease: RunnerMessage = {
  type: 'lease',
  key: '12345678',
  waitSeconds: 1,
  freeCpus: 1,
  freeMemoryBytes: 0,
  accept: false,
};

const record: RunnerMessage = {
  type: 'record',
  run: 1,
  attempt: 1,
  outcome: { result: 'passed', reason: null, detail: '', steps: [], durationMs: 0 },
  logLength: 0,
  offset: 0,
  bytes: 0,
};

test('replies come in the order of the messages, whatever each takes', async () => {
  const { conversation, said, send } = start(async (message) => {
    const run = message.type === 'heartbeat' ? message.run : 0;
    await new Promise((resolve) => setTimeout(resolve, run === 1 ? 10 : 0));
    return { reply: { type: 'ok', offset: run }, end: false };
  });
  send(beat(1), beat(2), beat(3));
  await conversation.settled();
  expect(said).toEqual([1, 2, 3].map((offset) => ({ type: 'ok', offset })));
});

test('answering that throws tells the peer, and says no more than that', async () => {
  const { conversation, said, events, send } = start(() => Promise.reject(new Error('disk on fire')));
  send(beat(1), beat(2));
  await conversation.settled();
  expect(said).toEqual([{ type: 'error', why: "the server could not answer 'heartbeat'" }]);
  expect(events).toEqual([expect.stringContaining('fault'), 'end']);
});

test('a peer that runs far ahead of the answers is held back', async () => {
  const answered: (() => void)[] = [];
  const { events, send } = start(
    () => new Promise((resolve) => answered.push(() => resolve({ reply: { type: 'ok' }, end: false }))),
  );
  send(...Array.from({ length: 100 }, (_, at) => beat(at + 1)));
  expect(events).toEqual(['pause']);
});

test('half a message that does not go on is a fault, one that is complete is not', async () => {
  const { conversation, said, events } = start(async () => ({ reply: { type: 'ok' }, end: false }));
  conversation.receive(encodeLine(beat(1)));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(said).toEqual([{ type: 'ok' }]);
  conversation.receive(Buffer.from('{"type":"heart'));
  await new Promise<void>((resolve) => {
    const look = setInterval(() => events.includes('end') && (clearInterval(look), resolve()), 5);
  });
  expect(said.at(-1)).toEqual({ type: 'error', why: 'the rest of a message did not come' });
});

test('bye while a lease waits withdraws it, and both are answered', async () => {
  let end: (answer: Answer) => void = () => {};
  const { conversation, said, events, send } = start((message) =>
    message.type === 'lease'
      ? new Promise((resolve) => (end = resolve))
      : Promise.resolve({ reply: { type: 'ok' }, end: true }),
  );
  send(lease);
  send({ type: 'bye' });
  expect(events).toEqual(['withdraw']);
  end({ reply: { type: 'idle' }, end: false });
  await conversation.settled();
  expect(said).toEqual([{ type: 'idle' }, { type: 'ok' }]);
  expect(events).toEqual(['withdraw', 'end']);
});

test('a lease that comes with a record is worked on with it, and answered after it', async () => {
  const ends = new Map<string, (answer: Answer) => void>();
  const { conversation, said, send } = start(
    (message) => new Promise((resolve) => ends.set(message.type, resolve)),
  );
  send(record, lease);
  expect([...ends.keys()]).toEqual(['record', 'lease']);
  ends.get('lease')?.({ reply: { type: 'idle' }, end: false });
  await Promise.resolve();
  expect(said).toEqual([]);
  ends.get('record')?.({ reply: { type: 'ok' }, end: false });
  await conversation.settled();
  expect(said).toEqual([{ type: 'ok' }, { type: 'idle' }]);
});

test('a lease that fails before its record is answered ends the conversation after that', async () => {
  let end: (answer: Answer) => void = () => {};
  const { conversation, said, send } = start((message) =>
    message.type === 'lease' ? Promise.reject(new Error('no')) : new Promise((resolve) => (end = resolve)),
  );
  send(record, lease);
  await new Promise((resolve) => setImmediate(resolve));
  end({ reply: { type: 'ok' }, end: false });
  await conversation.settled();
  expect(said).toEqual([{ type: 'ok' }, { type: 'error', why: "the server could not answer 'lease'" }]);
});

test('bye behind both withdraws the lease', async () => {
  const { events, send } = start(() => new Promise(() => {}));
  send(record, lease);
  expect(events).toEqual([]);
  send({ type: 'bye' });
  expect(events).toEqual(['withdraw']);
});

test('what must be outstanding alone is', () => {
  expect(mayArrive(['record'], 'lease')).toBe(true);
  expect(mayArrive(['record', 'lease'], 'lease')).toBe(false);
  expect(mayArrive(['record', 'lease'], 'heartbeat')).toBe(false);
  expect(mayArrive(['log', 'record'], 'lease')).toBe(false);
  expect(mayArrive(['heartbeat'], 'lease')).toBe(false);
  expect(mayArrive([], 'lease')).toBe(true);
  expect(mayArrive(['log'], 'log')).toBe(true);
  expect(mayArrive(['log', 'log'], 'heartbeat')).toBe(true);
  expect(mayArrive(['lease'], 'bye')).toBe(true);
  expect(mayArrive(['lease'], 'heartbeat')).toBe(false);
  expect(mayArrive(['log'], 'record')).toBe(false);
  expect(mayArrive(['hello'], 'lease')).toBe(false);
});
