import type { PublishRequest } from '../../shared/agent/result.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Mirror } from '../pipelines/mirror.ts';
import type { KeptChange } from '../store/agent-store.ts';
import { pushEnd } from './push-end.ts';
import { Quarantine } from './quarantine.ts';
import { rebase } from './rebase.ts';

/** It holds the mirror's turn, and with it the repository's pushes and commands. */
const PUSH_MS = 5 * 60_000;

export type ChangePushed =
  | { readonly type: 'pushed'; readonly sha: string; readonly rebased: boolean }
  | { readonly type: 'failed'; readonly why: string }
  /** The remote gave no answer, or none that says whether it was pushed. */
  | { readonly type: 'again'; readonly why: string };

export interface ChangeToPush {
  readonly request: PublishRequest;
  /** Path of the git bundle. */
  readonly bundle: string;
  /** Without `refs/heads/`. */
  readonly branch: string;
  /** Whether the branch may be made. */
  readonly mayMake: boolean;
  /** What gives git the right to push. */
  readonly env: Readonly<Record<string, string>>;
  /** Of an earlier attempt, perhaps of a process before. */
  readonly kept: KeptChange | null;
  /** Before each push: what is going to be pushed, so that whoever comes after can look whether it was. */
  keep(change: Pick<KeptChange, 'sha' | 'rebased'>): Promise<void>;
}

/** Inside a turn of the mirror. Pushes, never by force; rebases once where the branch has moved. */
export async function pushChange(mirror: Mirror, change: ChangeToPush): Promise<ChangePushed> {
  const { request, kept } = change;
  const unreachable = await fetchFault(mirror);
  if (unreachable !== null) return { type: 'again', why: unreachable };
  const quarantine = await Quarantine.open(mirror);
  try {
    if (kept !== null && (await mirror.isOnBranch(kept.sha)))
      return { type: 'pushed', sha: kept.sha, rebased: kept.rebased };
    const fault = await quarantine.take(change.bundle, request);
    if (fault !== null) return failed(fault);
    return await push(mirror, quarantine, change);
  } catch (error) {
    if (error instanceof VoleError) throw error;
    return failed(`the change cannot be read: ${oneLine(error)}`);
  } finally {
    await quarantine.remove();
  }
}

async function push(mirror: Mirror, quarantine: Quarantine, change: ChangeToPush): Promise<ChangePushed> {
  const { request, branch } = change;
  let sha = request.commit;
  let rebased = false;
  for (;;) {
    const tip = await mirror.head(`refs/heads/${branch}`);
    if (tip === null && !change.mayMake) return failed(`the branch ${branch} is not there any more`);
    if (tip !== null && tip !== request.parent) {
      const again = await rebase((args, options) => quarantine.git(args, options), request.commit, {
        parent: request.parent,
        onto: tip,
      });
      if (!again.ok) return failed(`${branch} has moved and the change cannot be rebased: ${again.why}`);
      ({ sha } = again);
      rebased = true;
    }
    await change.keep({ sha, rebased });
    const ref = `${sha}:refs/heads/${branch}`;
    const options = { env: change.env, timeoutMs: PUSH_MS };
    const end = pushEnd(await quarantine.git([...PUSH, mirror.url, ref], options));
    switch (end.type) {
      case 'pushed':
        return { type: 'pushed', sha, rebased };
      case 'refused':
        return failed(`the push to ${branch} was rejected: ${end.why}`);
      case 'unsure':
        return { type: 'again', why: `the push to ${branch} failed: ${end.why}` };
      case 'moved': {
        if (rebased) return failed(`the push to ${branch} was rejected again: ${end.why}`);
        const fault = await fetchFault(mirror);
        if (fault !== null) return { type: 'again', why: fault };
        const now = await mirror.head(`refs/heads/${branch}`);
        if (now === tip) return failed(`the push to ${branch} was rejected: ${end.why}`);
        break;
      }
      default:
        return end satisfies never;
    }
  }
}

/** No hook of the host, nothing of its settings beside the commit. */
const PUSH = [
  '-c',
  'core.hooksPath=/dev/null',
  'push',
  '--porcelain',
  '--no-verify',
  '--no-signed',
  '--no-follow-tags',
  '--recurse-submodules=no',
  '--',
] as const;

function failed(why: string): ChangePushed {
  return { type: 'failed', why };
}

/** Null where the mirror is up to date now. Throws `interrupted` where the server closes. */
async function fetchFault(mirror: Mirror): Promise<string | null> {
  try {
    await mirror.fetch();
    return null;
  } catch (error) {
    if (error instanceof VoleError && error.code === 'interrupted') throw error;
    return oneLine(error);
  }
}
