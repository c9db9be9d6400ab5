import type { ForgeClient, NewPullRequest, PullRequestRef } from '../forges/client.ts';
import type { ForgeFailure, Reply } from '../forges/reply.ts';

/** What forges say where there is one already. */
const THERE = [409, 422];

/**
 * The one open pull request of a branch: the one that is there, or a new one. Where another process made it a
 * moment ago, or its answer was lost, it is found and not made again.
 */
export async function onePullOf(
  client: Pick<ForgeClient, 'openPullOf' | 'createPull'>,
  wanted: NewPullRequest,
): Promise<Reply<PullRequestRef>> {
  const there = await client.openPullOf(wanted.head);
  if (!there.ok) return there;
  if (there.value !== null) return { ok: true, value: there.value };
  const made = await client.createPull(wanted);
  if (made.ok || !THERE.includes(made.status ?? 0)) return made;
  const since = await client.openPullOf(wanted.head);
  return since.ok && since.value !== null ? { ok: true, value: since.value } : made;
}

/** A branch that was pushed a moment ago is not known everywhere in a forge that is several machines. */
const SOON_MS = 30_000;

/**
 * How long such a failure may still be tried again, in milliseconds: 0 where the forge has refused, null
 * where it may be well again whenever it likes.
 */
export function patienceMs({
  status,
  retryAfterMs,
}: Pick<ForgeFailure, 'status' | 'retryAfterMs'>): number | null {
  if (status === null || status >= 500 || status === 408 || status === 429 || retryAfterMs !== null)
    return null;
  return status === 404 || THERE.includes(status) ? SOON_MS : 0;
}
