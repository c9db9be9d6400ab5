import { lstatSync, readdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { LEASED_FROM_FILE, type LeasedFrom, leasedFrom, leftLeaseKeys } from '../dir/lease-keys.ts';

/** Keys of leases that a dead process may have been given a job for and never begun it. */
export interface LeftLeases {
  readonly keys: readonly string[];
  /** Null where that is not known. */
  readonly from: LeasedFrom | null;
  /** When the latest of them was noted, epoch milliseconds. */
  readonly leftAt: number;
  /** To be called once the server has answered for all of them: until then the next start finds them again. */
  dispose(): void;
  /** For the start of another runner on this directory. */
  putBack(): void;
}

/** What a sweep makes of the folder of a dead process that has left keys, with the name of its own process. */
const TAKEN = /^\.taken\.([^.]+)\.([^.]+)$/;

/**
 * Takes what dead processes have left in `folder`, where each has a folder by its name. One with keys is
 * renamed to carry the name of `process`: whoever asks for them must know of the same process's trees, for
 * without these, a run that had begun would be given back as one that had not.
 */
export function takeLeftLeases(
  folder: string,
  process: string,
  lives: (process: string) => boolean,
  put: (file: string) => void,
): LeftLeases[] {
  return readdirSync(folder).flatMap((name): LeftLeases[] => {
    const [, taker = name, owner = name] = TAKEN.exec(name) ?? [];
    if (lives(taker)) return [];
    const left = path.join(folder, name);
    const files = isFolder(left) ? leftLeaseKeys(left) : [];
    const mine = path.join(folder, `.taken.${process}.${owner}`);
    if (files.length === 0) put(left);
    if (files.length === 0 || !renamed(left, mine)) return [];
    const kept = new Set([LEASED_FROM_FILE, ...files.map(({ name: file }) => file)]);
    for (const file of readdirSync(mine)) if (!kept.has(file)) put(path.join(mine, file));
    return [
      {
        keys: files.map(({ key }) => key),
        from: leasedFrom(mine),
        leftAt: Math.max(...files.map(({ notedAt }) => notedAt)),
        dispose: () => put(mine),
        putBack: () => void renamed(mine, path.join(folder, owner)),
      },
    ];
  });
}

/** Whoever took it before us may just be removing it. */
function isFolder(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** False where a job has put something in the way: the next start has another name, and finds it then. */
export function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}
