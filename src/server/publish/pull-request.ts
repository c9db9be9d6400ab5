import type { ForgeClient, NewPullRequest, PullRequestRef } from '../forges/client.ts';
import type { Reply } from '../forges/reply.ts';

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

/** Trying again would not help: the forge has answered, and it was no. */
export function isRefusal(status: number | null): boolean {
  return status !== null && status >= 300 && status < 500 && status !== 408 && status !== 429;
}
