// Uses and evicts one namespace without pause until it is killed, and writes to a common log what it holds.
// Arguments: a directory, `kernel` or `timed` (a lock that decides by time, to show that the log finds it out).
import { appendFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Guards } from '../../../src/shared/lock/guard.ts';
import { TimedGuards } from '../timed-guards.ts';

const [root = '', kind, me = String(process.pid)] = process.argv.slice(2);
const locks = path.join(root, 'locks');
const guards = kind === 'timed' ? new TimedGuards(locks) : new Guards(locks);
const namespace = path.join(root, 'namespace');
const trash = path.join(root, 'trash');
const say = (line: string): void => appendFileSync(path.join(root, 'log'), `${line}\n`);

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

async function use(id: string): Promise<void> {
  const guard = await guards.shared('ns');
  say(`grant ${id} shared`);
  const file = path.join(namespace, id);
  try {
    mkdirSync(namespace, { recursive: true });
    writeFileSync(file, id);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // evicted meanwhile: it is said below
  }
  if (Math.random() < 0.1) block(Math.random() * 150);
  else await delay(Math.random() * 30);
  if (!existsSync(file)) say(`missing ${id}`);
  say(`end ${id}`);
  guard.release();
}

function evict(id: string): void {
  const guard = guards.try('ns', 'exclusive');
  if (!guard) return;
  say(`grant ${id} exclusive`);
  const away = path.join(trash, id);
  const isThere = existsSync(namespace);
  try {
    if (isThere) renameSync(namespace, away);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    say(`missing ${id}`); // another has evicted it at the same time
  }
  if (Math.random() < 0.1) block(20);
  say(`end ${id}`);
  guard.release();
  rmSync(away, { recursive: true, force: true });
}

for (let n = 0; ; n++) {
  const id = `${me}.${n}`;
  if (Math.random() < 0.5) await use(id);
  else evict(id);
  await delay(Math.random() * 10);
}
