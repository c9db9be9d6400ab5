import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { KilledProcesses } from '../../../../src/shared/platform/killed-processes.ts';
import { processStat } from '../../../../src/shared/platform/processes.ts';

test('what was sent KILL counts until it is gone', async () => {
  const child = spawn('sleep', ['60']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const stat = processStat(child.pid ?? 0);
  if (!stat) throw new Error('it has not started');
  const sent: unknown[] = [];
  // As one does that takes long to give its memory back: it lives on for now.
  const killed = new KilledProcesses((...what) => sent.push(what) > 0);
  expect(killed.anyAlive).toBe(false);
  killed.kill(stat);
  expect(killed.anyAlive).toBe(true);
  expect(sent).toEqual([[stat.pid, 'SIGKILL']]);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  expect(killed.anyAlive).toBe(false);
});

test('who was gone already is not waited for', () => {
  const killed = new KilledProcesses();
  killed.kill({ pid: 2 ** 22 + 1, start: '1' }); // no kernel gives out a pid as high
  expect(killed.anyAlive).toBe(false);
});
