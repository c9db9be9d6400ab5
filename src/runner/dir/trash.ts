import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import type { FileThread } from './file-thread.ts';

/**
 * The way out of a directory: renamed into `trash/` at once, deleted behind by the file thread. What a
 * crash leaves there is deleted at the next start or trim. Renaming a link moves the link.
 */
export class Trash {
  readonly #dir: string;
  readonly #files: FileThread;
  readonly #warn: (line: string) => void;
  readonly #working = new Set<Promise<void>>();
  readonly #told = new Set<string>();

  constructor(dir: string, files: FileThread, warn: (line: string) => void) {
    this.#dir = dir;
    this.#files = files;
    this.#warn = warn;
  }

  /** Moves a path here; false where there is nothing at it. Throws where it may not be moved. */
  put(file: string): boolean {
    const place = path.join(this.#dir, `${path.basename(file)}-${randomBytes(6).toString('hex')}`);
    try {
      renameSync(file, place);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return false;
    }
    this.#delete(place);
    return true;
  }

  /** Deletes what earlier processes left; several at once may, each thing is deleted by whoever is faster. */
  empty(): number {
    mkdirSync(this.#dir, { recursive: true });
    const left = readdirSync(this.#dir);
    for (const name of left) this.#delete(path.join(this.#dir, name));
    return left.length;
  }

  /** Resolves when everything put here so far is deleted, or could not be. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  #delete(place: string): void {
    const work = this.#files
      .remove(place)
      .then(
        (left) => this.#tell(left),
        // The thread was ended in the middle of it: what is left here is deleted by the next start or trim.
        () => {},
      )
      .finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  /** What cannot be deleted is said once: it stays where it is and is tried again. */
  #tell(left: readonly string[]): void {
    const [first] = left;
    if (first === undefined || this.#told.has(first)) return;
    this.#told.add(first);
    this.#warn(
      `cannot delete ${first}${left.length > 1 ? ` and ${left.length - 1} more` : ''}; it is tried again`,
    );
  }
}
