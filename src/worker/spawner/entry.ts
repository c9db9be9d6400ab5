/**
 * SPAWNER PROCESS of a runner: starts the steps of its worker threads. Spawning is a fork, whose cost
 * grows with the memory of the process that does it, and which holds up every thread of that process
 * meanwhile; this one stays small. It lives as long as its standard input is open, which is the
 * runner's life, and listens on the socket that its argument names.
 */
import { closeSync, constants, open } from 'node:fs';
import net from 'node:net';
import { readJsonLines } from '../../shared/json-lines.ts';
import { spawnStep } from '../../shared/platform/step-process.ts';
import type { SpawnAnswer, SpawnRequest } from '../../shared/spawn-messages.ts';

// A terminal's or a supervisor's signals are the runner's to act on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.stdin.on('end', () => process.exit(0));
process.stdin.on('error', () => process.exit(0));
process.stdin.resume();

const server = net.createServer((socket) => {
  const answer = (message: SpawnAnswer): void => {
    if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
  };
  socket.on('error', () => {}); // its thread has ended; what it started is the runner's to end
  readJsonLines(socket, (request) => void start(request as SpawnRequest, answer));
});
server.listen(process.argv[2], () => process.stdout.write('ready\n'));

async function start(request: SpawnRequest, answer: (message: SpawnAnswer) => void): Promise<void> {
  const { id } = request;
  const output = await openOutput(request);
  if (!output) return answer({ id, what: 'unable' });
  const spawned = await spawnStep({ ...request, ...output });
  if (!spawned.ok) return answer({ id, what: 'refused', why: spawned.why });
  answer({ id, what: 'spawned', pgid: spawned.pgid });
  answer({ id, what: 'exited', ...(await spawned.exited) });
}

/**
 * Not by a blocking call: a FIFO whose reader has gone meanwhile would hold up everybody. And without
 * O_NONBLOCK, which the step would inherit.
 */
async function openOutput(request: SpawnRequest): Promise<{ stdoutFd: number; stderrFd: number } | null> {
  const [stdoutFd, stderrFd] = await Promise.all([request.stdout, request.stderr].map(openWriteEnd));
  if (typeof stdoutFd === 'number' && typeof stderrFd === 'number') return { stdoutFd, stderrFd };
  for (const fd of [stdoutFd, stderrFd]) if (typeof fd === 'number') closeSync(fd);
  return null;
}

function openWriteEnd(path: string): Promise<number | null> {
  return new Promise((resolve) => {
    open(path, constants.O_WRONLY, (error, fd) => resolve(error ? null : fd));
  });
}
