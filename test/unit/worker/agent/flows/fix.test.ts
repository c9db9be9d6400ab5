import { expect, test } from 'vitest';
import { fixFlow } from '../../../../../src/worker/agent/flows/fix.ts';
import { committed, facts, play, promptOf, pushed, said, snapshot, turnFailed } from './flow-rig.ts';

const given = facts({
  command: 'fix',
  message: 'the flaky test',
  branch: 'topic',
  session: { engine: 'opencode', id: 's1', home: 'here' },
  target: { number: 12, pull: true, title: 'Add it', body: '', comments: [] },
});

test('a fix is one fresh turn, one commit and its push, and nothing is kept', () => {
  const played = play(fixFlow, given, [said('Fixed.'), snapshot(), committed, pushed]);
  expect(played.trail).toEqual(['fix author fresh build', 'snapshot', 'commit', 'publish']);
  expect(promptOf(played.effects[0])).toContain('the flaky test');
  expect(played.end).toMatchObject({ failure: null, rounds: 0, keepsSession: false });
  expect(played.end?.report).toContain('It was not reviewed.');
  const publish = played.effects.at(-1);
  expect(publish?.type === 'publish' && publish.request.body).toMatch(/For #12\./);
});

test.each([
  [[turnFailed('provider')], 'failed', 'provider'],
  [[turnFailed('timeout')], 'timed-out', 'timeout'],
  [[turnFailed('stopped')], 'cancelled', 'cancelled'],
  [[turnFailed('server')], 'failed', 'agent'],
  [[said('nothing to do'), snapshot({ files: [] })], 'failed', 'agent'],
  [[said('x'), { type: 'unusable', reason: 'disk-full', why: 'full' }], 'failed', 'disk-full'],
] as const)('what goes wrong in a fix is the end of it: %o', (events, result, reason) => {
  const { end } = play(fixFlow, given, events);
  expect(end).toMatchObject({ failure: { result, reason }, change: null, keepsSession: false });
});
