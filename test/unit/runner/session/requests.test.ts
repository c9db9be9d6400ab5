import { expect, test } from 'vitest';
import { Requests } from '../../../../src/runner/session/requests.ts';

test('replies go to the requests in order', async () => {
  const requests = new Requests();
  const both = [requests.add(['ok', 'stale']), requests.add(['job', 'idle'])];
  expect(requests.answer({ type: 'stale', why: 'x' })).toBe(null);
  expect(requests.answer({ type: 'idle' })).toBe(null);
  expect(await Promise.all(both)).toEqual([{ type: 'stale', why: 'x' }, { type: 'idle' }]);
});

test('a reply that nobody asked for, or of another kind, is a fault', () => {
  const requests = new Requests();
  expect(requests.answer({ type: 'ok' })).toContain('unasked');
  void requests.add(['job', 'idle']);
  expect(requests.answer({ type: 'ok' })).toContain("'job' or 'idle'");
  expect(requests.outstanding).toBe(1);
});

test('who waits for quiet goes on when the last reply has come, or the connection has gone', async () => {
  const requests = new Requests();
  const first = requests.add(['ok']);
  const quiet = requests.idle();
  const disconnect = { reason: 'unreachable', why: 'x' } as const;
  requests.disconnected(disconnect);
  await quiet;
  expect(await first).toEqual({ type: 'disconnected', disconnect });
});
