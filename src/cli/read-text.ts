import type { Readable } from 'node:stream';
import { VoleError } from '../shared/errors.ts';
import { formatBytes } from '../shared/units.ts';

/** Far more than anything that is read as a whole needs, and far less than memory. */
const MOST_BYTES = 64 * 1024 * 1024;

/** All of a stream as text; one that does not end, such as a device, is refused at 64 MiB. */
export async function readText(stream: Readable, name: string): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > MOST_BYTES) {
      throw new VoleError('usage', `${name} has more than ${formatBytes(MOST_BYTES)}; give less`);
    }
  }
  return Buffer.concat(parts).toString('utf8');
}
