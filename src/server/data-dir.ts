import { randomBytes } from 'node:crypto';
import { chmod, open, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { ServerFile } from '../shared/api.ts';
import { oneLine, VoleError } from '../shared/errors.ts';
import { makeFolder } from '../shared/platform/make-folder.ts';

/** The files of a server's data directory that no other part owns. */
export class DataDir {
  readonly root: string;

  constructor(root: string) {
    this.root = path.resolve(root);
  }

  get locks(): string {
    return path.join(this.root, 'locks');
  }
  get database(): string {
    return path.join(this.root, 'vole.sqlite');
  }
  get logs(): string {
    return path.join(this.root, 'logs');
  }
  get artifacts(): string {
    return path.join(this.root, 'artifacts');
  }
  get mirrors(): string {
    return path.join(this.root, 'mirrors');
  }
  get hostKey(): string {
    return path.join(this.root, 'host-key');
  }
  get format(): string {
    return path.join(this.root, 'format.json');
  }
  /** Kept over restarts, so that a copy on another machine stays good. */
  get token(): string {
    return path.join(this.root, 'admin-token');
  }
  get serverFile(): string {
    return path.join(this.root, 'server.json');
  }
}

const FORMAT_VERSION = 1;
const formatSchema = z.object({ version: z.number().int(), server: z.string().regex(/^[0-9a-f]{8}$/) });

/** Makes the directory, 0700, and what is in it before anything else. One that exists keeps its mode. */
export async function makeDataDir(dir: DataDir): Promise<void> {
  await io(`cannot make the data directory ${dir.root}`, async () => {
    if (makeFolder(dir.root, 0o700)) await chmod(dir.root, 0o700);
    for (const folder of [dir.locks, dir.logs, dir.artifacts, dir.mirrors]) makeFolder(folder, 0o700);
  });
}

/** The server's id, made with the directory: whose run numbers these are. Call under the `server` guard. */
export async function serverIdOf(dir: DataDir): Promise<string> {
  const text = await readIfThere(dir.format);
  if (text === null) {
    const server = randomBytes(4).toString('hex');
    await writeWhole(dir.format, `${JSON.stringify({ version: FORMAT_VERSION, server })}\n`);
    return server;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const format = formatSchema.safeParse(value);
  if (!format.success)
    throw new VoleError('io-error', `${dir.format} is damaged: expected a version and the server's id`);
  if (format.data.version !== FORMAT_VERSION) {
    throw new VoleError(
      'io-error',
      `${dir.root} has format ${format.data.version}, and this vole knows format ${FORMAT_VERSION}: use the vole that made it, or a newer one`,
    );
  }
  return format.data.server;
}

/** The admin token, made at first use, 0600. */
export async function adminTokenOf(dir: DataDir): Promise<string> {
  const text = (await readIfThere(dir.token))?.trim();
  if (text !== undefined && text !== '') return text;
  const token = randomBytes(32).toString('base64url');
  await writeWhole(dir.token, `${token}\n`);
  return token;
}

export async function writeServerFile(dir: DataDir, content: ServerFile): Promise<void> {
  await writeWhole(dir.serverFile, `${JSON.stringify(content, null, 2)}\n`);
}

export async function removeServerFile(dir: DataDir): Promise<void> {
  await rm(dir.serverFile, { force: true });
}

async function readIfThere(file: string): Promise<string | null> {
  return io(`cannot read ${file}`, async () => {
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  });
}

/** Whoever reads sees the old file or the new one whole, and it is on disk when this resolves. */
async function writeWhole(file: string, text: string): Promise<void> {
  await io(`cannot write ${file}`, async () => {
    const temporary = `${file}.${process.pid}.new`;
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  });
}

async function io<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code === 'ENOSPC' ? 'disk-full' : 'io-error';
    throw new VoleError(code, `${what}: ${oneLine(error)}`, { cause: error });
  }
}
