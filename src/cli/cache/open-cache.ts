import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { listStored, type Stored, verifyDir } from '../../runner/cache/inspect.ts';
import { Namespaces } from '../../runner/cache/namespaces.ts';
import { OwnersOf } from '../../runner/cache/owners-of.ts';
import { SavedCheckouts } from '../../runner/cache/saved-checkouts.ts';
import { Trimmer } from '../../runner/cache/trimmer.ts';
import { FileThreads } from '../../runner/dir/file-threads.ts';
import { openDir } from '../../runner/dir/open-dir.ts';
import { Trash } from '../../runner/dir/trash.ts';
import { VoleError } from '../../shared/errors.ts';
import type { CliContext } from '../context.ts';
import { readSettings } from '../settings-options.ts';

/** What `vole cache` works with. */
export interface CacheParts {
  readonly trimmer: Trimmer;
  readonly trash: Trash;
  stored(): Stored[];
  faults(): string[];
}

/** Opens a directory that is there, never makes one, and closes it after the work. */
export async function withCache(
  options: Readonly<Record<string, unknown>>,
  context: CliContext,
  work: (parts: CacheParts) => void | Promise<void>,
): Promise<void> {
  const settings = readSettings('cache', options, context);
  const root = path.resolve(context.cwd, settings.dir);
  if (!existsSync(path.join(root, 'format.json'))) {
    throw new VoleError('not-found', `--dir ${root} is no runner's directory: it has no format.json`);
  }
  const dir = await openDir(root);
  const files = new FileThreads(fileURLToPath(new URL('file-thread.js', import.meta.url)));
  const warn = (line: string): void => context.stderr(`vole: ${line}\n`);
  try {
    const trash = new Trash(dir.layout.trash, files, warn);
    const owners = new OwnersOf(dir.layout.jobs);
    const namespaces = new Namespaces(dir, trash, owners);
    const saved = new SavedCheckouts(dir, trash, owners);
    // What is over its limit (`what`) the command says itself.
    const log = {
      debug: () => {},
      info: () => {},
      warn: (facts: object, line: string) => void ('what' in facts || warn(line)),
    };
    const { cacheSize, gitSize, minFree } = settings;
    const limits = { cacheSize, gitSize, minFree };
    const trimmer = new Trimmer({ dir, namespaces, saved, files, trash, limits, log });
    await work({
      trimmer,
      trash,
      stored: () => listStored(dir, namespaces, saved),
      faults: () => verifyDir(dir, namespaces),
    });
  } finally {
    await files.close();
  }
}
