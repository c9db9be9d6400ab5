// Does one thing with a runner's directory, so that a test can stop or kill it in the middle of it.
// Arguments: what, dir, further ones.
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { makeJobTree } from '../../../src/runner/dir/job-tree.ts';
import { sweep } from '../../../src/runner/sweep/sweep.ts';
import { CacheRig } from '../runner-dir-rig.ts';
import { Cleanup } from '../temp.ts';

const [, , what = '', dir = '', extra = ''] = process.argv;
const cleanup = new Cleanup();
const rig = await CacheRig.open(dir, cleanup);
const say = (line: string): void => void writeSync(1, `${line}\n`);
const forever = () => new Promise<never>(() => setInterval(() => {}, 1_000));

switch (what) {
  case 'evict-stopped': {
    const result = rig.namespaces.removeIfFree(extra, () => {
      say('granted');
      while (!existsSync(path.join(dir, 'go'))) Math.sqrt(2); // process 1 of a namespace cannot stop itself
      return true;
    });
    say(result);
    break;
  }
  case 'hold': {
    const held = await rig.hold(extra);
    say(held.path);
    process.stdin.once('data', (data) => {
      held.release({ remove: data.toString().startsWith('remove') });
      say('released');
      void rig.trash.settled().then(() => process.exit(0));
    });
    await forever();
    break;
  }
  case 'sweep': {
    const { dead, lines } = await sweep(rig.dir, rig.trash, 'of-an-actor');
    say(JSON.stringify({ dead: dead.length, lines }));
    break;
  }
  case 'trees':
    for (let run = 1; ; run += 1) {
      const tree = makeJobTree(rig.dir, rig.trash, rig.identity({ run: (run % 50) + 1 }));
      if (run === 1) say('begun');
      tree.dispose();
    }
  case 'full': {
    const held = await rig.hold();
    const fill = (): void => {
      for (let at = 0; ; at += 1) writeFileSync(path.join(held.path, `f${at}`), 'x');
    };
    try {
      fill();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
    held.release({ remove: false });
    const trimmed = await rig.trimmer().trim();
    await rig.trash.settled();
    const left = [...rig.cached(), ...readdirSync(rig.dir.layout.trash)];
    say(JSON.stringify({ removed: trimmed?.cache.removed.length, left, warnings: rig.warnings }));
    break;
  }
  case 'go': {
    const held = await rig.hold();
    for (let at = 0; at < 50; at += 1) {
      const folder = path.join(held.path, `pkg/mod/m${at}@v1`);
      mkdirSync(folder, { recursive: true });
      for (let file = 0; file < 100; file += 1)
        writeFileSync(path.join(folder, `f${file}`), 'x', { mode: 0o444 });
      chmodSync(folder, 0o555);
    }
    for (const folder of ['pkg/mod', 'pkg', '']) chmodSync(path.join(held.path, folder), 0o555);
    held.release({ remove: false });
    const trimmed = await rig.trimmer().trim();
    await rig.trash.settled();
    say(JSON.stringify({ removed: trimmed?.cache.removed.length, warnings: rig.warnings }));
    break;
  }
  default:
    throw new Error(`no such act: ${what}`);
}
await cleanup.run();
