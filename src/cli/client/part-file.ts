import { randomBytes } from 'node:crypto';
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises';
import { VoleError } from '../../shared/errors.ts';

/** What file systems without hard links answer: FAT, some network shares, FUSE. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS']);

/**
 * A file that has its own name only once it is complete. Until then it stands beside it under a name that
 * nobody else has: a pid would not do, since containers that share a folder have the same ones.
 */
export class PartFile {
  readonly #path: string;
  readonly #target: string;
  readonly #handle: FileHandle;
  #isOurs = true;

  private constructor(path: string, target: string, handle: FileHandle) {
    this.#path = path;
    this.#target = target;
    this.#handle = handle;
  }

  static async open(target: string): Promise<PartFile> {
    const path = `${target}.part-${randomBytes(6).toString('hex')}`;
    return new PartFile(path, target, await open(path, 'wx'));
  }

  async write(chunk: Uint8Array): Promise<void> {
    await this.#handle.appendFile(chunk);
  }

  /** Gives it its name. Unless forced, a file that came there meanwhile stays and this throws. */
  async place(isForced: boolean, makeLink: typeof link = link): Promise<void> {
    await this.#handle.close();
    if (isForced || !(await this.#linked(makeLink))) await rename(this.#path, this.#target);
    else await unlink(this.#path);
    this.#isOurs = false;
  }

  /** Only a link fails where the name is taken; a rename would replace the file. */
  async #linked(makeLink: typeof link): Promise<boolean> {
    try {
      await makeLink(this.#path, this.#target);
      return true;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') throw isThere(this.#target);
      if (!NO_LINKS.has(code)) throw error;
    }
    if (await lstat(this.#target).catch(() => null)) throw isThere(this.#target);
    return false;
  }

  /** Removes what was not placed, after the last write to it; gives its path where it could not. */
  async discard(): Promise<string | null> {
    if (!this.#isOurs) return null;
    await this.#handle.close().catch(() => {});
    return unlink(this.#path).then(
      () => null,
      () => this.#path,
    );
  }
}

export function isThere(target: string): VoleError {
  return new VoleError(
    'io-error',
    `${target} is there already: give --force to replace it, or another --output`,
  );
}
