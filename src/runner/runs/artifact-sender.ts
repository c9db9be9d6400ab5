import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { oneLine } from '../../shared/errors.ts';
import type { SessionLink } from '../slots/session-link.ts';

export interface Artifact {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * - `stale`: the run is somebody else's; `abandoned`: the link is closed; `stopped`: the signal aborted
 * - `refused`: the server will not have it, or its file cannot be read; `why` is for the record
 */
export type ArtifactSent =
  | { readonly end: 'sent' | 'stale' | 'abandoned' | 'stopped' }
  | { readonly end: 'refused'; readonly why: string };

export interface UploadControl {
  /** Ends the sending where it is. */
  readonly signal: AbortSignal;
  /** The server says that somebody wants the run to end. */
  cancel(why: string): void;
}

/** How often the server may turn one artifact down before its run fails. */
const TRIES = 3;

/** Sends one packed artifact, from the offset that the server has, over as many sessions as it takes. */
export async function sendArtifact(
  link: SessionLink,
  run: { run: number; attempt: number },
  artifact: Artifact,
  control: UploadControl,
): Promise<ArtifactSent> {
  try {
    return await send(link, run, artifact, control);
  } catch (error) {
    return { end: 'refused', why: `artifact ${artifact.name}: ${oneLine(error)}` };
  }
}

async function send(
  link: SessionLink,
  run: { run: number; attempt: number },
  artifact: Artifact,
  control: UploadControl,
): Promise<ArtifactSent> {
  // A process that got away may have put a FIFO in its place.
  const file = await open(artifact.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error('its file was replaced');
    let offset = 0;
    for (let refusals = 0; refusals < TRIES; ) {
      const session = await link.session();
      if (!session) return { end: 'abandoned' };
      if (control.signal.aborted) return { end: 'stopped' };
      const wanted = Math.min(session.welcome.limits.frameBytes, Math.max(0, artifact.bytes - offset));
      const buffer = Buffer.allocUnsafe(wanted);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      const end = offset + bytesRead;
      const last = end >= artifact.bytes;
      const reply = await session.artifact(run.run, run.attempt, {
        name: artifact.name,
        offset,
        bytes: buffer.subarray(0, bytesRead),
        last,
        sha256: last ? artifact.sha256 : null,
      });
      if (reply.type === 'stale') return { end: 'stale' };
      if (reply.type === 'disconnected') {
        // A server that ends the session over it has refused it; any other loss costs only a resend.
        if (reply.disconnect.reason === 'protocol') refusals++;
        continue;
      }
      if (reply.cancel !== undefined) control.cancel(reply.cancel);
      const has = reply.offset ?? end;
      if (last && has === artifact.bytes) return { end: 'sent' };
      // What was acknowledged is durable, so one that falls back has been thrown away (its digest), and
      // one that is too long is not this artifact.
      if (last || has < offset || has > artifact.bytes) refusals++;
      // A file that has become shorter would be asked for for ever.
      if (!last && bytesRead === 0) throw new Error('its file changed while it was sent');
      offset = Math.min(has, artifact.bytes);
    }
    return { end: 'refused', why: `artifact ${artifact.name}: the server refused it ${TRIES} times` };
  } finally {
    await file.close();
  }
}
