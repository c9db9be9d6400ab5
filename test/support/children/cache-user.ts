// Holds one namespace again and again, each time as a job with `--no-cache`. Arguments: directory, rounds.
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cacheRig, keyOf } from '../cache-rig.ts';

const [root = '', rounds] = process.argv.slice(2);
const rig = await cacheRig(root, path.resolve(import.meta.dirname, '..'));
for (let n = 0; n < Number(rounds); n++) {
  const held = await rig.namespaces.hold(keyOf('o/n'), AbortSignal.timeout(20_000));
  const file = path.join(held.path, `${process.pid}-${n}`);
  writeFileSync(file, 'x');
  if (Math.random() < 0.5) await delay(Math.random() * 4);
  if (!existsSync(file)) process.exitCode = 9;
  held.release({ remove: true });
  if (Math.random() < 0.5) await delay(Math.random() * 4);
}
await rig.trash.settled();
await rig.files.close();
