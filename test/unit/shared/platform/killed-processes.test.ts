import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { KilledProcesses } from '../../../../src/shared/platform/killed-processes.ts';
import { isAlive, processStat } from '../../../../src/shared/platform/processes.ts';

/** Ends slowly once it is killed: its memory has to be given back. */
const LARGE = "const all = Buffer.alloc(5e8, 1); process.stdout.write('x'); setInterval(() => all, 1000)";

test('what was sent KILL counts until it is gone, however little it shows meanwhile', async () => {
  const child = spawn(process.execPath, ['-e', LARGE], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const stat = processStat(child.pid ?? 0);
  if (!stat) throw new Error('it has not started');
  const killed = new KilledProcesses();
  expect(killed.anyAlive).toBe(false);
  killed.kill(stat);
  let looks = 0;
  for (; ; looks++) {
    const anyAlive = killed.anyAlive;
    if (!isAlive(processStat(stat.pid))) break;
    expect(anyAlive).toBe(true);
  }
  expect(looks).toBeGreaterThan(0);
  expect(killed.anyAlive).toBe(false);
});

test('who was gone already is not waited for', () => {
  const killed = new KilledProcesses();
  killed.kill({ pid: 2 ** 22 + 1, start: '1' }); // no kernel gives out a pid as high
  expect(killed.anyAlive).toBe(false);
});
