import type { Socket } from 'node:net';

/**
 * Sends what is written at one time by one system call. ssh2 writes each packet in three parts (length,
 * content, tag), which would be three segments on the wire and up to three reads of the peer. Back-pressure is
 * as before: what is gathered counts as written and not sent. What was written before a `destroy` goes out, as
 * it would have.
 */
export function gatherWrites(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let gathering = false;
  const flush = (): void => {
    if (!gathering) return;
    gathering = false;
    socket.uncork();
  };
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    flush();
    return destroy(error);
  };
  socket.write = (...args: unknown[]): boolean => {
    if (!gathering) {
      gathering = true;
      socket.cork();
      process.nextTick(flush);
    }
    return write(...args);
  };
}
