import { randomBytes } from 'node:crypto';
import { link, open, readFile, unlink } from 'node:fs/promises';
import path from 'node:path';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { KEY_BYTES } from './seal.ts';

export function secretKeyPath(dataDir: string): string {
  return path.join(dataDir, 'secret-key');
}

/** Null where there is none. */
export async function readSecretKey(file: string): Promise<Buffer | null> {
  let key: Buffer;
  try {
    key = await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new VoleError('io-error', `cannot read the secret key ${file}: ${oneLine(error)}`, {
      cause: error,
    });
  }
  if (key.length !== KEY_BYTES) {
    throw new VoleError(
      'io-error',
      `the secret key ${file} has ${key.length} bytes and should have ${KEY_BYTES}: put the right file back`,
    );
  }
  return key;
}

/**
 * Makes the key, 0600, whole or not at all: a half-written key would lock its secrets away for good.
 * Where somebody else has made one meanwhile, that one is the key.
 */
export async function makeSecretKey(file: string): Promise<Buffer> {
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(randomBytes(KEY_BYTES));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const directory = await open(path.dirname(file), 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch (error) {
    throw new VoleError('io-error', `cannot make the secret key ${file}: ${oneLine(error)}`, {
      cause: error,
    });
  } finally {
    await unlink(temporary).catch(() => {});
  }
  const key = await readSecretKey(file);
  if (key === null) throw new VoleError('io-error', `the secret key ${file} went away as it was made`);
  return key;
}
