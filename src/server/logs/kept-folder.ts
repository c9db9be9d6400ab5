import { type FileHandle, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import { type FileFolder, syncFolder } from './append-file.ts';

/** A folder that gets many files: it is made once, and its descriptor stays open to sync it by. */
export class KeptFolder implements FileFolder {
  readonly path: string;
  #opening: Promise<FileHandle> | null = null;
  #using = 0;
  #closed = false;

  constructor(folder: string) {
    this.path = folder;
  }

  async make(): Promise<void> {
    await this.#use(async () => {});
  }

  async remake(): Promise<void> {
    const before = this.#opening;
    this.#opening = null;
    await before?.then((handle) => handle.close()).catch(() => {});
    await this.make();
  }

  async sync(): Promise<void> {
    await this.#use((handle) => handle.sync());
  }

  async #use(action: (handle: FileHandle) => Promise<void>): Promise<void> {
    this.#using++;
    try {
      await action(await this.#handle());
    } finally {
      this.#using--;
      await this.#closeUnused();
    }
  }

  /** What is being synced is waited for by who syncs it. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#closeUnused();
  }

  /** One that could not be made is tried again by the next. */
  #handle(): Promise<FileHandle> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<FileHandle> {
    const made = await mkdir(this.path, { recursive: true, mode: 0o700 });
    if (made !== undefined) await syncFolder(path.dirname(this.path));
    return await open(this.path, 'r');
  }

  async #closeUnused(): Promise<void> {
    if (!this.#closed || this.#using > 0) return;
    const opening = this.#opening;
    this.#opening = null;
    await opening?.then((handle) => handle.close()).catch(() => {});
  }
}
