import { lstatSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { makeFolder } from '../../shared/platform/make-folder.ts';
import { isThere } from './part-file.ts';

export interface TargetHow {
  /** `--output`. */
  readonly output: string;
  /** There may be several files, so that `output` is a folder; a single one may be given another name. */
  readonly isFolder: boolean;
  readonly isForced: boolean;
}

/**
 * The path of each file, in order. All are looked at, and their folder made, before the first download
 * starts: what cannot be written is known then, and no half of them is left.
 */
export function targetsOf(files: readonly string[], { output, isFolder, isForced }: TargetHow): string[] {
  if (output === '') throw new VoleError('usage', '--output: it is empty; give a folder, a file or -');
  const into = isFolder || output.endsWith('/') || statOf(output)?.isDirectory() === true;
  // Only its name: a server has no say in which folder a file goes to.
  const targets = into ? files.map((file) => path.join(output, path.basename(file))) : [output];
  folderFor(into ? output : path.dirname(output));
  for (const target of targets) checkTarget(target, isForced);
  return targets;
}

function folderFor(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? 'a file is in the way'
        : `it cannot be made: ${oneLine(error)}`;
    throw new VoleError('io-error', `${folder}: ${why}; give another --output`, { cause: error });
  }
}

function checkTarget(target: string, isForced: boolean): void {
  const there = statOf(target);
  if (there?.isDirectory()) throw new VoleError('io-error', `${target} is a folder; give another --output`);
  // A device or a pipe would be replaced by a file, which nobody means.
  if (there && !there.isFile())
    throw new VoleError('io-error', `${target} is no regular file; \`--output -\` is standard output`);
  if (!isForced && statOf(target, lstatSync)) throw isThere(target);
}

function statOf(file: string, stat: (file: string) => Stats = statSync): Stats | null {
  try {
    return stat(file);
  } catch {
    return null;
  }
}
