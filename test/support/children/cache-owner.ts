// A runner with one job: makes its tree, holds its namespace, starts a process of the job, says its pid, waits.
// Arguments: directory.
import { spawn } from 'node:child_process';
import { writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { makeJobTree } from '../../../src/runner/dir/job-tree.ts';
import { cacheRig, identityOf, keyOf } from '../cache-rig.ts';

const [root = ''] = process.argv.slice(2);
const rig = await cacheRig(root, path.resolve(import.meta.dirname, '..'));
const held = await rig.namespaces.hold(keyOf('o/n'), AbortSignal.timeout(20_000));
writeFileSync(path.join(held.path, 'file'), 'x'.repeat(10_000)); // an empty directory takes no room everywhere
const marker = `marker-${process.pid}`;
const tree = makeJobTree(rig.dir, rig.trash, identityOf(rig.dir, { namespace: held.name, marker }));
const child = spawn('sleep', ['300'], {
  cwd: tree.path,
  detached: true,
  stdio: 'ignore',
  env: { ...process.env, VOLE_JOB_MARKER: marker },
});
if (child.pid) tree.owner.group(child.pid);
writeSync(1, `${child.pid}\n`);
setInterval(() => {}, 1000);
