import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { oneLine } from '../../shared/errors.ts';
import { failure } from './api.ts';
import type { Reply } from './reply.ts';

const MOST_BYTES = 8 * 1024;

/** The token in a file, without the white space around it. Says the file's name where it fails, never what is in it. */
export async function readToken(file: string): Promise<Reply<string>> {
  try {
    // A FIFO that nobody writes to would be waited for without end.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) return failure(null, `token file ${file}: not a file`);
      const buffer = Buffer.alloc(MOST_BYTES + 1);
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
      const token = buffer.toString('utf8', 0, bytesRead).trim();
      if (bytesRead > MOST_BYTES || !/^[\x21-\x7e]+$/.test(token))
        return failure(null, `token file ${file}: expected one token and nothing else`);
      return { ok: true, value: token };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return failure(null, `token file: ${oneLine(error)}`);
  }
}
