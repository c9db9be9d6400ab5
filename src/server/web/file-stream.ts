import { type FileHandle, open } from 'node:fs/promises';
import type { BreakOff } from './log-stream.ts';

const CHUNK_BYTES = 256 * 1024;

/** A file's bytes as the reader asks for them, opened at the first time. Fails as `logStream` does. */
export function fileStream(path: string, breakOff: BreakOff): ReadableStream<Uint8Array> {
  let handle: FileHandle | null = null;
  const close = async () => {
    await handle?.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          handle ??= await open(path, 'r');
          const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES);
          if (bytesRead > 0) {
            controller.enqueue(buffer.subarray(0, bytesRead));
            return;
          }
        } catch (error) {
          breakOff(error);
        }
        await close();
        controller.close();
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
