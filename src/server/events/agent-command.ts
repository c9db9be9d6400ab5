import { AGENT_LABEL, type AgentSessionRef, type AgentSpec } from '../../shared/agent/spec.ts';
import { refFault } from '../../shared/api-names.ts';
import type { Mirror, ResolvedRef } from '../pipelines/mirror.ts';
import { trustOf } from '../pipelines/workflow-file.ts';
import type { PreparedRun, Repository } from '../store/store.ts';
import { isSame, type TargetRead } from './agent-target.ts';
import { serialKeyOf } from './comments.ts';
import type { CommandEvent } from './event.ts';

/** Rounds of a draft and a review, each of which may take an hour. */
const TIMEOUT_MS = 6 * 3_600_000;

type Target = Exclude<TargetRead, { fault: string }>;

export interface AgentMemory {
  readonly plan: string | null;
  readonly session: AgentSessionRef | null;
}

/** The branch that a command's change goes to, and where it begins. */
export type AgentPlace =
  | {
      /** Without `refs/heads/`; null where nothing is changed. */
      readonly branch: string | null;
      /** The first of these that there is; the default branch where there is none of them. */
      readonly from: readonly string[];
      /** Whether the default branch will not do. */
      readonly fixed: boolean;
    }
  | { readonly fault: string };

/** Where an agent works, or why it may not. Asks nobody. */
export function agentPlace(
  name: CommandEvent['name'],
  { target, head, project }: Pick<Target, 'head' | 'project'> & { target: Pick<Target['target'], 'number'> },
): AgentPlace {
  const { number } = target;
  if (head === null) {
    if (name === 'fix') return { fault: `fix is for pull requests, and #${number} is an issue` };
    if (name === 'plan') return { branch: null, from: [], fixed: false };
    const branch = `agent/issue-${number}`;
    return { branch, from: [`refs/heads/${branch}`], fixed: false };
  }
  const own = head.repository !== null && isSame(head.repository, project);
  const from = own ? [`refs/heads/${head.ref}`] : [`refs/pull/${number}/head`];
  if (name === 'plan') return { branch: null, from: [...from, `refs/pull/${number}/head`], fixed: true };
  if (!own) {
    const where = head.repository ?? 'a repository that is gone';
    return { fault: `the branch of #${number} is in ${where}, where vole does not push` };
  }
  if (!head.open) return { fault: `the pull request #${number} is not open` };
  if (refFault(head.ref) !== null)
    return { fault: `the branch of #${number} has a name that is not supported` };
  return { branch: head.ref, from, fixed: true };
}

/** The run of a command that the repository does not define itself. In a turn of the mirror, fetched. */
export async function prepareAgent(
  mirror: Mirror,
  repository: Pick<Repository, 'name' | 'cloneUrl'>,
  event: CommandEvent,
  read: Target,
  memory: AgentMemory,
): Promise<PreparedRun | { readonly fault: string }> {
  const place = agentPlace(event.name, read);
  if ('fault' in place) return place;
  const fallback = await mirror.resolve(null);
  if (place.branch !== null && fallback.ref === `refs/heads/${place.branch}`)
    return {
      fault: `#${event.issue} is of the default branch, ${place.branch}, to which agents do not push`,
    };
  const at = (await firstOf(mirror, place.from)) ?? (place.fixed ? null : fallback);
  if (at === null) return { fault: `${place.from[0]} has no commit` };
  const { ref, sha } = at;
  const trust = await trustOf(mirror, sha);
  if (trust !== 'trusted') {
    const why = 'on a runner an agent would execute what a stranger wrote';
    return { fault: `#${event.issue} comes from elsewhere than the repository itself: ${why}` };
  }
  const { name, cloneUrl } = repository;
  const agent: AgentSpec = {
    command: event.name,
    message: event.message,
    author: event.author,
    target: read.target,
    branch: place.branch,
    ...memory,
    base: await mirror.mergeBase(fallback.sha, sha),
  };
  const facts = { job: event.name, cpus: 1, memoryBytes: 0 } as const;
  return {
    ref,
    sha,
    trust,
    run: {
      ...facts,
      key: event.name,
      needs: [],
      labels: [AGENT_LABEL],
      serial: serialKeyOf(name, event.issue),
      retryLost: false,
      failFast: null,
      kind: 'command',
      state: 'queued',
      spec: {
        ...facts,
        repository: name,
        trust,
        event: 'command',
        source: { url: cloneUrl, ref, sha, submodules: false },
        image: null,
        services: [],
        imageFile: null,
        imagePull: null,
        env: {},
        steps: [],
        agent,
        artifacts: [],
        timeoutMs: TIMEOUT_MS,
      },
    },
  };
}

async function firstOf(mirror: Mirror, refs: readonly string[]): Promise<ResolvedRef | null> {
  for (const ref of refs) {
    const sha = ref.startsWith('refs/heads/') ? await mirror.head(ref) : await mirror.fetchHead(ref);
    if (sha !== null) return { ref, sha };
  }
  return null;
}
