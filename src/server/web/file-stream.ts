import type { FileHandle } from 'node:fs/promises';
import type { BreakOff } from './log-stream.ts';

const CHUNK_BYTES = 256 * 1024;

/** A file's bytes as the reader asks for them; closes the handle. Fails as `logStream` does. */
export function fileStream(handle: FileHandle, breakOff: BreakOff): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES);
          if (bytesRead > 0) {
            controller.enqueue(buffer.subarray(0, bytesRead));
            return;
          }
        } catch (error) {
          breakOff(error);
        }
        await handle.close();
        controller.close();
      },
      cancel: () => handle.close(),
    },
    { highWaterMark: 0 },
  );
}
