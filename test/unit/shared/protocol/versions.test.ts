import { expect, test } from 'vitest';
import { agreeOnVersion } from '../../../../src/shared/protocol/versions.ts';

test.each([
  { server: 5, runner: 5, protocol: 5 },
  { server: 5, runner: 4, protocol: 4 },
  { server: 5, runner: 6, protocol: 5 },
  { server: 3, runner: 2, protocol: 2 },
])('a server of $server and a runner of $runner speak $protocol', ({ server, runner, protocol }) => {
  expect(agreeOnVersion(server, runner)).toEqual({ ok: true, protocol });
});

test.each([
  { server: 5, runner: 3, which: 'too old' },
  { server: 5, runner: 7, which: 'too new' },
  { server: 3, runner: 1, which: 'too old' },
])('a runner of $runner is $which for a server of $server', ({ server, runner, which }) => {
  const answer = agreeOnVersion(server, runner);
  expect(answer.ok ? '' : answer.why).toContain(which);
});
