/**
 * SPAWNER PROCESS of a runner: starts the steps of its worker threads. Spawning is a fork, whose cost
 * grows with the memory of the process that does it, and which holds up every thread of that process
 * meanwhile; this one stays small. It lives as long as its standard input is open, which is the
 * runner's life, and listens on the socket that its argument names.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import net from 'node:net';
import { readJsonLines } from '../../shared/json-lines.ts';
import { closeInherited } from '../../shared/platform/inherited.ts';
import { spawnStep } from '../../shared/platform/step-process.ts';
import type { SpawnAnswer, SpawnRequest } from '../../shared/spawn-messages.ts';

// A lock or socket that somebody has started the runner with is not for its jobs.
closeInherited();
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
  const output = openOutput(request);
  if (!output) return answer({ id, what: 'unable' });
  const spawned = await spawnStep({ ...request, ...output });
  if (!spawned.ok) return answer({ id, what: 'refused', why: spawned.why });
  answer({ id, what: 'spawned', pgid: spawned.pgid });
  answer({ id, what: 'exited', ...(await spawned.exited) });
}

function openOutput(request: SpawnRequest): { stdoutFd: number; stderrFd: number } | null {
  const stdoutFd = openWriteEnd(request.stdout);
  if (stdoutFd === null) return null;
  const stderrFd = openWriteEnd(request.stderr);
  if (stderrFd !== null) return { stdoutFd, stderrFd };
  closeSync(stdoutFd);
  return null;
}

/**
 * Opening the write end of a FIFO waits for a reader, and without O_NONBLOCK, which the step would inherit,
 * that would hold up everybody where the reader has gone. So we are one ourselves meanwhile.
 */
function openWriteEnd(path: string): number | null {
  let reader: number | null = null;
  try {
    reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    // The number may be another file's by now, where the thread that asked has died.
    return fstatSync(reader).isFIFO() ? openSync(path, constants.O_WRONLY) : null;
  } catch {
    return null;
  } finally {
    if (reader !== null) closeSync(reader);
  }
}
