import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { AppendFile, type FileFolder, syncFolder } from './append-file.ts';
import type { ArtifactFiles } from './log-files.ts';
import { isMissing, number } from './log-store.ts';

const NAME = /^[A-Za-z0-9._-]{1,100}$/;
/** No artifact can be called like an unfinished one: `~` is not allowed in a name. */
const PART = '~part';

/** Artifacts as files. One is complete, and seen, once it has its own name. */
export class ArtifactStore implements ArtifactFiles {
  readonly #root: string;
  readonly #idleMs: number;
  readonly #files = new Map<string, AppendFile>();

  constructor(root: string, idleMs: number) {
    this.#root = root;
    this.#idleMs = idleMs;
  }

  async append(
    run: number,
    attempt: number,
    name: string,
    offset: number,
    bytes: Uint8Array,
    last: boolean,
    sha256: string | null,
  ): Promise<{ offset: number; error: string | null }> {
    const whole = this.#path(run, attempt, name);
    if (whole === null) return { offset: 0, error: `'${name}' is no name for an artifact` };
    // A last part whose reply was lost is sent again: what is complete stays as it is.
    const complete = await sizeOf(whole);
    if (complete !== null) return { offset: complete, error: null };
    const part = whole + PART;
    const file = this.#file(part);
    const length = await file.append(offset, bytes);
    if (!last || length !== offset + bytes.length) return { offset: length, error: null };
    return await file.settle(() => finish(part, whole, sha256));
  }

  async list(run: number, attempt: number): Promise<{ name: string; bytes: number }[]> {
    const folder = this.#folder(run, attempt);
    const names = await readdir(folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const complete = names.filter((name) => NAME.test(name)).toSorted();
    const sizes = await Promise.all(complete.map((name) => sizeOf(path.join(folder, name))));
    return complete.flatMap((name, at) => {
      const bytes = sizes[at];
      return typeof bytes === 'number' ? [{ name, bytes }] : [];
    });
  }

  async path(run: number, attempt: number, name: string): Promise<string | null> {
    const whole = this.#path(run, attempt, name);
    return whole !== null && (await sizeOf(whole)) !== null ? whole : null;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => file.close()));
  }

  #folder(run: number, attempt: number): string {
    return path.resolve(this.#root, number(run), number(attempt));
  }

  #path(run: number, attempt: number, name: string): string | null {
    if (!NAME.test(name) || name === '.' || name === '..') return null;
    return path.join(this.#folder(run, attempt), name);
  }

  #file(name: string): AppendFile {
    const known = this.#files.get(name);
    if (known) return known;
    const folder = folderOfRun(path.dirname(name));
    const onIdle = () => void this.#files.delete(name);
    const file = new AppendFile(name, { folder, idleMs: this.#idleMs, onIdle });
    this.#files.set(name, file);
    return file;
  }
}

/** The attempt's folder; after a power cut it is there when that of the run is on disk too. */
function folderOfRun(folder: string): FileFolder {
  const make = async (): Promise<void> => void (await mkdir(folder, { recursive: true, mode: 0o700 }));
  const above = path.dirname(folder);
  const sync = async (): Promise<void> => {
    await Promise.all([folder, above, path.dirname(above)].map(syncFolder));
  };
  return { make, remake: make, sync };
}

async function finish(
  part: string,
  whole: string,
  sha256: string | null,
): Promise<{ offset: number; error: string | null }> {
  const size = await sizeOf(part);
  if (size === null) return { offset: (await sizeOf(whole)) ?? 0, error: null };
  if ((await digestOf(part)) !== sha256) {
    await rm(part, { force: true });
    return { offset: 0, error: 'its bytes do not have the digest that was sent with them' };
  }
  await rename(part, whole);
  await syncFolder(path.dirname(whole));
  return { offset: size, error: null };
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function sizeOf(file: string): Promise<number | null> {
  try {
    const facts = await stat(file);
    return facts.isFile() ? facts.size : null;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
