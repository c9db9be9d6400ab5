import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { makeFolder } from '../../shared/platform/make-folder.ts';
import type { CliContext } from '../context.ts';
import { Progress } from '../progress.ts';

const MIB = 1024 * 1024;

export interface SaveHow {
  /** Where the file goes, made if it is not there; `-` is standard output. */
  readonly folder: string;
  /** A file that is there is replaced. */
  readonly isForced: boolean;
  readonly json: boolean;
}

/**
 * Writes a reply's body to the file, which has its name once it is complete, and gives its path; null where
 * it went to standard output. Short of its length, ended by a signal or not written, it leaves nothing.
 */
export async function saveStream(
  body: IncomingMessage,
  { file, bytes }: { readonly file: string; readonly bytes: number },
  { folder, isForced, json }: SaveHow,
  context: CliContext,
): Promise<string | null> {
  let done = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      done += chunk.length;
      progress.moved();
      next(null, chunk);
    },
  });
  const interrupted = new AbortController();
  const stops = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) =>
    context.onSignal(signal, () => interrupted.abort()),
  );
  const toOutput = folder === '-';
  const target = path.join(folder, file);
  const part = `${target}.part-${process.pid}`;
  const progress = new Progress(context, json || toOutput, () => ({
    what: file,
    done: Math.floor(done / MIB),
    total: Math.ceil(bytes / MIB),
    note: 'MiB',
  }));
  try {
    if (!toOutput) await makeRoom(folder, target, isForced);
    const { signal } = interrupted;
    if (toOutput) await pipeline(body, counter, toStandardOutput(context), { signal });
    else await pipeline(body, counter, createWriteStream(part, { flags: 'wx' }), { signal });
    if (done !== bytes) throw new Error(`it ended after ${done} of ${bytes} bytes`);
    if (!toOutput) await rename(part, target);
    return toOutput ? null : target;
  } catch (error) {
    body.destroy();
    if (!toOutput) await rm(part, { force: true });
    if (interrupted.signal.aborted)
      throw new VoleError(
        'interrupted',
        `interrupted after ${done} of ${bytes} bytes of ${file}; nothing is kept`,
      );
    throw faultOf(error, file, target);
  } finally {
    progress.end();
    for (const stop of stops) stop();
  }
}

async function makeRoom(folder: string, target: string, isForced: boolean): Promise<void> {
  makeFolder(folder);
  const there = await stat(target).catch(() => null);
  if (there?.isDirectory()) throw new VoleError('io-error', `${target} is a folder`);
  if (there && !isForced)
    throw new VoleError(
      'io-error',
      `${target} is there already: give --force to replace it, or another --output`,
    );
}

function toStandardOutput(context: CliContext): (source: AsyncIterable<Buffer>) => Promise<void> {
  return async (source) => {
    for await (const chunk of source) await context.write(chunk);
  };
}

/** What the disk says names the file; all else is the connection's. */
function faultOf(error: unknown, file: string, target: string): VoleError {
  if (error instanceof VoleError) return error;
  const { code, syscall } = error as NodeJS.ErrnoException;
  const isDisk = ['open', 'write', 'rename', 'mkdir', 'close'].includes(syscall ?? '');
  if (isDisk)
    return new VoleError(code === 'ENOSPC' ? 'disk-full' : 'io-error', `${target}: ${oneLine(error)}`, {
      cause: error,
    });
  const what = `${file} did not come whole: ${oneLine(error)}; nothing is kept`;
  return new VoleError('server-unreachable', what, { cause: error });
}
