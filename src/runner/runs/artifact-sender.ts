import { open } from 'node:fs/promises';
import type { SessionLink } from '../slots/session-link.ts';

export interface Artifact {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export type ArtifactSent = 'sent' | 'stale' | 'abandoned';

/** Sends one packed artifact, from the offset that the server has, over as many sessions as it takes. */
export async function sendArtifact(
  link: SessionLink,
  run: { run: number; attempt: number },
  artifact: Artifact,
): Promise<ArtifactSent> {
  const file = await open(artifact.path, 'r');
  try {
    let offset = 0;
    for (;;) {
      const session = await link.session();
      if (!session) return 'abandoned';
      const buffer = Buffer.allocUnsafe(Math.min(session.welcome.limits.frameBytes, artifact.bytes - offset));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      const last = offset + bytesRead >= artifact.bytes;
      const reply = await session.artifact(run.run, run.attempt, {
        name: artifact.name,
        offset,
        bytes: buffer.subarray(0, bytesRead),
        last,
        sha256: last ? artifact.sha256 : null,
      });
      if (reply.type === 'stale') return 'stale';
      if (reply.type === 'disconnected') continue;
      const sentAll = last && reply.offset === offset + bytesRead;
      offset = reply.offset ?? offset + bytesRead;
      if (sentAll) return 'sent';
    }
  } finally {
    await file.close();
  }
}
