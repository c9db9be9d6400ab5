import { createHash } from 'node:crypto';
import { createReadStream, lstatSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CHANGE_ARTIFACT } from '../../../shared/agent/result.ts';
import { wholeLine } from '../../../shared/errors.ts';
import type { WorkerTask } from '../../../shared/worker-messages.ts';
import { makeAfresh } from '../../real-folder.ts';
import type { OwnGit } from './own-git.ts';
import { gitFailed, type Unusable, unusable } from './unusable.ts';

/** The ref that the bundle has its one commit under. */
export const CHANGE_REF = 'refs/vole/change';

export interface ChangeArtifact {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** One commit of the tree on the parent, and a bundle of it alone, which needs the parent to be unpacked. */
export async function makeChange(
  task: WorkerTask,
  own: OwnGit,
  change: { tree: string; parent: string; message: string },
): Promise<{ ok: true; commit: string; artifact: ChangeArtifact } | Unusable> {
  const { tree, parent, message } = change;
  const made = await own.git(['commit-tree', tree, '-p', parent, '-F', '-'], { input: message });
  if (!made.ok) return gitFailed('making the commit', made);
  const commit = made.stdout.trim();
  const named = await own.git(['update-ref', CHANGE_REF, commit]);
  if (!named.ok) return gitFailed('making the commit', named);
  try {
    makeAfresh(task.paths.artifacts);
  } catch (error) {
    return unusable(wholeLine(error));
  }
  const file = path.join(task.paths.artifacts, `${CHANGE_ARTIFACT}.bundle`);
  const bundled = await own.git(['bundle', 'create', '-q', file, CHANGE_REF, `^${parent}`]);
  if (!bundled.ok) return gitFailed('packing the commit', bundled);
  try {
    const bytes = lstatSync(file).size;
    if (bytes > task.artifactLimitBytes) {
      rmSync(file);
      return unusable(
        `the change is over the limit of ${task.artifactLimitBytes} bytes (--artifact-limit): ${bytes} bytes packed`,
      );
    }
    const hash = createHash('sha256');
    await pipeline(createReadStream(file), hash);
    return {
      ok: true,
      commit,
      artifact: { name: CHANGE_ARTIFACT, path: file, bytes, sha256: hash.digest('hex') },
    };
  } catch (error) {
    return unusable(wholeLine(error));
  }
}
