/** Bodies of deliveries, with what vole reads of them and some of what it must not look at. */
const ZERO = '0'.repeat(40);

export interface PushFacts {
  readonly project?: string;
  readonly ref?: string;
  readonly before?: string | null;
  readonly after: string | null;
  readonly commits?: number;
  /** Makes the body another one, as a time of the forge would. */
  readonly at?: string;
}

function project(fullName: string) {
  const [owner = '', name = ''] = fullName.split('/');
  return {
    id: 1,
    name,
    full_name: fullName,
    owner: { login: owner },
    clone_url: 'http://payload.invalid/evil.git',
    ssh_url: 'git@payload.invalid:evil.git',
    default_branch: 'main',
  };
}

export function pushPayload(facts: PushFacts): Record<string, unknown> {
  const { ref = 'refs/heads/main', before = '1'.repeat(40), after, commits = 1 } = facts;
  const commit = (id: string) => ({
    id,
    message: 'a change\n',
    timestamp: '2026-01-02T03:04:05Z',
    added: ['a'],
    removed: [],
    modified: [],
  });
  return {
    ref,
    before: before ?? ZERO,
    after: after ?? ZERO,
    commits: Array.from({ length: commits }, (_, at) => commit(String(at).padStart(40, '0'))),
    total_commits: commits,
    head_commit: after === null ? null : commit(after),
    repository: { ...project(facts.project ?? 'team/app'), updated_at: facts.at ?? '' },
    pusher: { login: 'alice' },
    sender: { login: 'alice' },
  };
}

export interface PullFacts {
  readonly project?: string;
  readonly action?: string;
  readonly number?: number;
  readonly sha: string;
  readonly base?: string;
  /** `owner/name` of the head's repository; null where it was deleted. */
  readonly head?: string | null;
}

export function pullPayload(facts: PullFacts): Record<string, unknown> {
  const at = facts.project ?? 'team/app';
  const { action = 'opened', number = 7, sha, base = 'main', head = at } = facts;
  return {
    action,
    number,
    pull_request: {
      id: 1000 + number,
      number,
      title: 'a change',
      body: '[skip ci] stands here for nothing',
      state: 'open',
      head: { label: 'change', ref: 'change', sha, repo: head === null ? null : project(head) },
      base: { label: base, ref: base, sha: '2'.repeat(40), repo: project(at) },
    },
    repository: project(at),
    sender: { login: 'alice' },
  };
}

export interface CommentFacts {
  readonly project?: string;
  readonly action?: string;
  readonly issue?: number;
  readonly comment: number;
  readonly body: string;
  readonly author?: string;
  readonly pull?: boolean;
}

export function commentPayload(facts: CommentFacts): Record<string, unknown> {
  const { action = 'created', issue = 3, comment, body, author = 'alice', pull = false } = facts;
  return {
    action,
    issue: {
      id: 100 + issue,
      number: issue,
      title: 'something',
      user: { login: 'bob' },
      state: 'open',
      pull_request: pull ? { merged: false, merged_at: null } : null,
    },
    comment: { id: comment, body, user: { login: author }, created_at: '2026-01-02T03:04:05Z' },
    repository: project(facts.project ?? 'team/app'),
    sender: { login: author },
    is_pull: pull,
  };
}
