import type { Socket } from 'node:net';

/** Reads JSON objects, one a line, from a socket of our own; what is no JSON ends it. */
export function readJsonLines(socket: Socket, receive: (message: unknown) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      let message: unknown;
      try {
        message = JSON.parse(line) as unknown;
      } catch {
        socket.destroy();
        return;
      }
      receive(message);
    }
  });
}
