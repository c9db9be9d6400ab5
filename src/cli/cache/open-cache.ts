import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Cleared,
  clearDir,
  listStored,
  type Stored,
  type Verified,
  verifyDir,
} from '../../runner/cache/inspect.ts';
import { Namespaces } from '../../runner/cache/namespaces.ts';
import { OwnersOf } from '../../runner/cache/owners-of.ts';
import { SavedCheckouts } from '../../runner/cache/saved-checkouts.ts';
import { bytesOf, diskOf, type Trimmed, Trimmer } from '../../runner/cache/trimmer.ts';
import { FileThreads } from '../../runner/dir/file-threads.ts';
import { openDir } from '../../runner/dir/open-dir.ts';
import { Trash } from '../../runner/dir/trash.ts';
import { imagesUsed, lateRootHelper } from '../../runner/engine/late-helper.ts';
import { VoleError } from '../../shared/errors.ts';
import type { CliContext } from '../context.ts';
import { defaultDir } from '../default-dir.ts';
import { Progress, type Step } from '../progress.ts';
import { engineEnv } from '../runner/runner-options.ts';
import { readSettings } from '../settings-options.ts';

/** What `vole cache` works with. */
export interface CacheParts {
  trim(): Promise<Trimmed | null>;
  clear(): Promise<Cleared>;
  stored(): Promise<Stored[]>;
  verify(): Promise<Verified>;
  /** A line for each of those that were to be deleted and are still there; after the work. */
  readonly withstood: () => readonly string[];
  readonly limits: { readonly cacheBytes: number; readonly gitBytes: number };
}

/** Opens a directory that is there, never makes one, and closes it after the work. */
export async function withCache(
  options: Readonly<Record<string, unknown>>,
  context: CliContext,
  json: boolean,
  work: (parts: CacheParts) => Promise<void>,
): Promise<void> {
  const settings = readSettings('cache', options, context);
  const root = rootOf(settings.dir, context);
  const files = new FileThreads(fileURLToPath(new URL('file-thread.js', import.meta.url)));
  let look = (): Omit<Step, 'note'> | null => null;
  const progress = new Progress(context, json, () => {
    const step = look();
    return step && { ...step, note: files.entries > 0 ? `${files.entries.toLocaleString('en')} files` : '' };
  });
  const hear = (what: string) => (done: number, total: number) => {
    look = () => ({ what, done, total });
    progress.moved();
  };
  const warn = (line: string): void => progress.warn(`vole: ${line}\n`);
  try {
    const dir = await openDir(root);
    const trash = new Trash(dir.layout.trash, files, warn);
    const owners = new OwnersOf(dir.layout.jobs);
    const namespaces = new Namespaces(dir, trash, owners);
    const saved = new SavedCheckouts(dir, trash, owners);
    if (process.getuid?.() !== 0)
      trash.helpedBy(lateRootHelper(dir, imagesUsed(namespaces), engineEnv(context)));
    // What is over its limit (`what`) the command says itself.
    const log = {
      debug: () => {},
      info: () => {},
      warn: (facts: object, line: string) => void ('what' in facts || warn(line)),
    };
    const { cacheSize, gitSize, minFree } = settings;
    const limits = { cacheSize, gitSize, minFree };
    const trimmer = new Trimmer({ dir, namespaces, saved, files, trash, limits, log });
    const parts = { dir, namespaces, saved, files, trash };
    /** Takes the bar away before anything is printed. What is evicted is deleted by then, so that the room is there. */
    const shown = async <T>(work: Promise<T>): Promise<T> => {
      try {
        const done = await work;
        look = () => ({ what: 'deleting', ...trash.progress });
        await trash.settled();
        return done;
      } finally {
        progress.end();
      }
    };
    const evict = () => trimmer.clearFree((what, done, total) => hear(what)(done, total));
    const { totalBytes } = diskOf(root);
    await work({
      trim: () => shown(trimmer.trim((what, done, total) => hear(what)(done, total))),
      clear: () => shown(clearDir(parts, evict, hear('measuring'))),
      stored: () => shown(listStored(parts, hear('measuring'))),
      verify: () => shown(verifyDir(parts, hear('verifying'))),
      withstood: () => trash.withstood,
      limits: { cacheBytes: bytesOf(cacheSize, totalBytes), gitBytes: bytesOf(gitSize, totalBytes) },
    });
  } finally {
    progress.end();
    await files.close();
  }
}

function rootOf(given: string | null, context: CliContext): string {
  const root = given === null ? defaultDir(context) : path.resolve(context.cwd, given);
  const isThere = existsSync(path.join(root, 'format.json'));
  if (given !== null) {
    if (isThere) return root;
    throw new VoleError('not-found', `--dir ${root} is no runner's directory: it has no format.json`);
  }
  if (!isThere)
    throw new VoleError('not-found', `\`vole run\` has kept nothing in ${root}: give a runner's --dir DIR`);
  context.stderr(`vole: ${root}, where \`vole run\` keeps its caches; --dir DIR names a runner's\n`);
  return root;
}
