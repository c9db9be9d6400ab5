import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { lstat, open, readlink } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { counted } from '../../shared/counted.ts';
import { wholeLine } from '../../shared/errors.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { makeAfresh, workspaceFault } from '../real-folder.ts';
import { addEntries } from './entries.ts';
import { type FoundFile, findFiles } from './find-files.ts';

/**
 * Packs each artifact of the job and hands it to the main thread. A pattern that matches nothing is
 * only said; one that cannot be packed is the run's failure, and the others are packed all the same.
 */
export async function collectArtifacts(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
): Promise<PartFailure | null> {
  let leftBytes = task.artifactLimitBytes;
  let failure: PartFailure | null = null;
  let made = false;
  for (const artifact of task.spec.artifacts) {
    try {
      const fault = workspaceFault(task.paths);
      if (fault !== null) throw new Error(fault);
      const found = await findFiles(task.paths.src, artifact.paths);
      for (const note of found.notes) log.say(0, `artifact ${artifact.name}: ${note}`);
      if (found.files.length === 0) {
        log.say(0, `artifact ${artifact.name}: nothing matches ${artifact.paths.join(', ')}`);
        continue;
      }
      if (!made) makeAfresh(task.paths.artifacts);
      made = true;
      const packed = await packFiles(task, artifact.name, found.files, leftBytes, main.stopping);
      leftBytes -= packed.bytes;
      log.say(
        0,
        `artifact ${artifact.name}: ${counted(found.files.length, 'file')}, ${counted(packed.bytes, 'byte')} packed`,
      );
      main.tell({ type: 'artifact', ...packed });
    } catch (error) {
      if (main.stopped) return null;
      const code = (error as NodeJS.ErrnoException).code;
      const reason = code === 'ENOSPC' ? 'disk-full' : 'artifact';
      failure ??= { reason, why: `artifact ${artifact.name}: ${wholeLine(error)}` };
      if (reason === 'disk-full') break;
    }
  }
  return failure;
}

async function packFiles(
  task: WorkerTask,
  name: string,
  files: readonly FoundFile[],
  limitBytes: number,
  signal: AbortSignal,
): Promise<{ name: string; path: string; bytes: number; sha256: string }> {
  const file = path.join(task.paths.artifacts, `${name}.tar.gz`);
  const out = await open(file, 'wx');
  const archive = pack();
  const hash = createHash('sha256');
  let bytes = 0;
  const count = new Transform({
    transform(part: Buffer, _, done) {
      bytes += part.length;
      hash.update(part);
      if (bytes > limitBytes)
        done(new Error(`over the limit of ${task.artifactLimitBytes} bytes (--artifact-limit)`));
      else done(null, part);
    },
  });
  const writing = pipeline(archive, createGzip({ level: 6 }), count, out.createWriteStream(), { signal });
  const adding = addEntries(archive, files, { lstat, readlink }).then(
    () => archive.finalize(),
    (error: unknown) => archive.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  try {
    await Promise.all([writing, adding]);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
  return { name, path: file, bytes, sha256: hash.digest('hex') };
}
