import type { IncomingMessage } from 'node:http';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { CliContext } from '../context.ts';
import { Progress } from '../progress.ts';
import { PartFile } from './part-file.ts';

const MIB = 1024 * 1024;
/** A connection that a firewall has dropped says nothing, and would be waited for without end. */
const STALL_MS = 60_000;

export interface SaveHow {
  /** The file, in a folder that is there; null is standard output. */
  readonly target: string | null;
  /** A file that is there is replaced. */
  readonly isForced: boolean;
  readonly json: boolean;
  /** So long without a byte, and it fails. */
  readonly stallMs?: number;
}

/**
 * Writes a reply's body to the file, which has its name once it is complete, or to standard output. Short
 * of its length, ended by a signal or not written, it leaves no file.
 */
export async function saveStream(
  body: IncomingMessage,
  { file, bytes }: { readonly file: string; readonly bytes: number },
  { target, isForced, json, stallMs = STALL_MS }: SaveHow,
  context: CliContext,
): Promise<void> {
  let done = 0;
  let part: PartFile | null = null;
  const interrupted = new AbortController();
  const { signal } = interrupted;
  const stops = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) =>
    context.onSignal(name, () => interrupted.abort()),
  );
  const progress = new Progress(context, json || target === null, () => ({
    what: file,
    done: Math.floor(done / MIB),
    total: Math.ceil(bytes / MIB),
    note: 'MiB',
  }));
  const write = async (chunk: Buffer): Promise<void> => {
    await (part ?? context).write(chunk);
    done += chunk.length;
    progress.moved();
  };
  try {
    part = target === null ? null : await PartFile.open(target);
    await untilAborted(signal, () => copy(body, write, stallMs));
    if (done !== bytes) throw new Error(`it ended after ${done} of ${bytes} bytes`);
    signal.throwIfAborted();
    await part?.place(isForced);
  } catch (error) {
    body.destroy();
    const left = part ? await part.discard() : null;
    const kept = left === null ? 'nothing is kept' : `remove ${left}`;
    const end = target === null ? '' : `; ${kept}`;
    if (!signal.aborted) throw faultOf(error, file, target, end);
    context.leavesOutput = target === null;
    throw new VoleError('interrupted', `interrupted after ${done} of ${bytes} bytes of ${file}${end}`);
  } finally {
    progress.end();
    for (const stop of stops) stop();
  }
}

/** Does not wait for the work's own end after that: the reader of standard output may never take a byte more. */
async function untilAborted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  await Promise.race([work(), aborted]);
}

/** Time counts only while the connection is waited for, not while a slow reader is. */
async function copy(
  body: IncomingMessage,
  write: (chunk: Buffer) => Promise<void>,
  stallMs: number,
): Promise<void> {
  const stalled = (): void => void body.destroy(new Error(`nothing came for ${stallMs / 1000} s`));
  let timer = setTimeout(stalled, stallMs);
  try {
    for await (const chunk of body) {
      clearTimeout(timer);
      await write(chunk as Buffer);
      timer = setTimeout(stalled, stallMs);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What the disk says names the file; all else is the connection's. */
function faultOf(error: unknown, file: string, target: string | null, end: string): VoleError {
  if (error instanceof VoleError) return error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  const isDisk = ['open', 'write', 'link', 'rename', 'unlink', 'close'].includes(syscall ?? '');
  if (isDisk && target !== null)
    return new VoleError(code === 'ENOSPC' ? 'disk-full' : 'io-error', `${target}: ${oneLine(error)}`, {
      cause: error,
    });
  return new VoleError('server-unreachable', `${file} did not come whole: ${oneLine(error)}${end}`, {
    cause: error,
  });
}
