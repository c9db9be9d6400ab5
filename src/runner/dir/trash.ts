import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { oneLine } from '../../shared/errors.ts';
import type { FileThreads } from './file-threads.ts';
import { makeWritable } from './open-folder.ts';

/** A directory is moved only by who may write it, since its `..` changes; a job may have made it 0555. */
function move(file: string, place: string): void {
  try {
    renameSync(file, place);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    if (!makeWritable(file)) throw error;
    renameSync(file, place);
  }
}

/** Does as root what this process may not; false where it could not. */
export interface RootHelper {
  /** Removes what is in the folder. */
  empty(folder: string): Promise<boolean>;
  /** Makes the folder itself this user's. */
  own(folder: string): Promise<boolean>;
}

/**
 * The way out of a directory: renamed into `trash/` at once, deleted behind by the file thread. What a
 * crash leaves there is deleted at the next start or trim. Renaming a link moves the link.
 */
export class Trash {
  readonly #dir: string;
  readonly #files: FileThreads;
  readonly #warn: (line: string) => void;
  /** What is being deleted, by its place here. */
  readonly #working = new Map<string, Promise<void>>();
  readonly #told = new Set<string>();
  #total = 0;
  #helper: RootHelper | null = null;

  constructor(dir: string, files: FileThreads, warn: (line: string) => void) {
    this.#dir = dir;
    this.#files = files;
    this.#warn = warn;
  }

  /** For what containers of jobs have written as root. */
  helpedBy(helper: RootHelper | null): void {
    this.#helper = helper;
  }

  /** Moves a path here; false where there is nothing at it. Throws where it may not be moved. */
  put(file: string): boolean {
    const place = path.join(this.#dir, `${path.basename(file)}-${randomBytes(6).toString('hex')}`);
    try {
      move(file, place);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return false;
    }
    this.#delete(place);
    return true;
  }

  /** As `put`, for those who cannot do anything about it: says once what may not be moved. */
  tryPut(file: string): 'put' | 'none' | 'withstood' {
    try {
      return this.put(file) ? 'put' : 'none';
    } catch (error) {
      this.#tell([`${file}: ${oneLine(error).replace(/, rename '.*$/, '')}`]);
      // In time for the next try.
      if (this.#helper) this.#track(file, this.#helper.own(file));
      return 'withstood';
    }
  }

  /** Deletes what earlier processes left; several at once may, each thing is deleted by whoever is faster. */
  empty(): number {
    mkdirSync(this.#dir, { recursive: true });
    const left = readdirSync(this.#dir);
    const places = left
      .map((name) => path.join(this.#dir, name))
      .filter((place) => !this.#working.has(place));
    for (const place of places) this.#delete(place);
    return places.length;
  }

  /** How many trees are deleted, of those that there were since there was none. */
  get progress(): { done: number; total: number } {
    return { done: this.#total - this.#working.size, total: this.#total };
  }

  /** A line for each of those that could not be deleted or moved here. */
  get withstood(): readonly string[] {
    return [...this.#told];
  }

  /** Resolves when everything put here so far is deleted, or could not be. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.values());
  }

  #delete(place: string): void {
    this.#total = this.#working.size === 0 ? 1 : this.#total + 1;
    this.#track(place, this.#removed(place));
  }

  async #removed(place: string): Promise<void> {
    const left = await this.#files.remove(place);
    const helped = left.length > 0 && this.#helper !== null && (await this.#helper.empty(place));
    this.#tell(helped ? await this.#files.remove(place) : left);
  }

  #track(place: string, work: Promise<unknown>): void {
    const tracked = work
      // The thread died or is closed: what is left is deleted by the next start or trim.
      .then(
        () => {},
        () => {},
      )
      .finally(() => this.#working.delete(place));
    this.#working.set(place, tracked);
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
