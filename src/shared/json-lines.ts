import type { Socket } from 'node:net';

/** Reads JSON objects, one a line, from a socket of our own; what is no JSON ends it. */
export function readJsonLines<T>(socket: Socket, receive: (message: T) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      let message: T;
      try {
        message = JSON.parse(line) as T;
      } catch {
        socket.destroy();
        return;
      }
      receive(message);
    }
  });
}
