import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import ssh2 from 'ssh2';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { makeKeyPair } from '../../shared/protocol/key-pair.ts';
import { parsePublicKey } from '../../shared/public-key.ts';

export interface HostKey {
  readonly privateKey: Buffer;
  /** `SHA256:...` */
  readonly fingerprint: string;
}

/**
 * The server's host key, made at first start (0600), with its public part beside it (`.pub`, which
 * `--host-key` of a runner takes). A file that is no Ed25519 key, or that others may read or write,
 * is a `VoleError`.
 */
export async function loadHostKey(file: string): Promise<HostKey> {
  try {
    const privateKey = (await read(file)) ?? (await make(file));
    await checkMode(file);
    const { publicKey, fingerprint } = publicPart(privateKey, file);
    await publish(`${file}.pub`, `${publicKey} vole host key\n`);
    return { privateKey, fingerprint };
  } catch (error) {
    if (error instanceof VoleError) throw error;
    const code = (error as NodeJS.ErrnoException).code === 'ENOSPC' ? 'disk-full' : 'io-error';
    throw new VoleError(code, `host key ${file}: ${oneLine(error)}`, { cause: error });
  }
}

function publicPart(privateKey: Buffer, file: string): { publicKey: string; fingerprint: string } {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error || !key.isPrivateKey() || key.type !== 'ssh-ed25519') {
    const what =
      key instanceof Error ? oneLine(key) : `it is a ${key.isPrivateKey() ? key.type : 'public'} key`;
    throw new VoleError(
      'io-error',
      `host key ${file} is no Ed25519 private key in OpenSSH's format (${what}): restore it, or move it away and every runner needs the new fingerprint`,
    );
  }
  const parsed = parsePublicKey(`ssh-ed25519 ${key.getPublicSSH().toString('base64')}`);
  if (!parsed.ok) throw new VoleError('io-error', `host key ${file}: ${parsed.fault}`);
  return parsed.key;
}

/** As ssh does it: whoever could read the key can stand in for the server. */
async function checkMode(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new VoleError('io-error', `host key ${file} has mode ${octal}: others may use it; chmod 600 it`);
}

async function publish(file: string, text: string): Promise<void> {
  if ((await read(file))?.toString() !== text) await writeFile(file, text, { mode: 0o644 });
}

async function read(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whole and on disk before it has its name, and never over one that is there. */
async function make(file: string): Promise<Buffer> {
  const { privateKey } = makeKeyPair('vole host key');
  const temporary = `${file}.${randomBytes(6).toString('hex')}.new`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(privateKey);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(temporary, file);
    return privateKey;
  } catch (error) {
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await read(file) : null;
    if (other === null) throw error;
    return other;
  } finally {
    await rm(temporary, { force: true });
  }
}
