import type { ForgeKind } from '../../shared/api-forge.ts';

/** What differs between the forges' APIs; the rest is the same in the parts that we use. */
export interface Dialect {
  readonly headers: (token: string) => Record<string, string>;
  /** Query of a list's first page. The next ones are where `Link` says. */
  readonly pageQuery: string;
  /** What it calls the state of a status in a list. */
  readonly statusField: 'state' | 'status';
  /** Query of the list of open pull requests; what it lets through of other branches is left out by us. */
  readonly openPullsQuery: (owner: string, branch: string) => string;
  /** Longest description of a status. */
  readonly descriptionLength: number;
  /** Only an administrator of a repository may ask what others may do in it. */
  readonly asksAsAdmin: boolean;
}

const gitea: Dialect = {
  headers: (token) => ({ authorization: `token ${token}`, accept: 'application/json' }),
  pageQuery: 'limit=50',
  statusField: 'status',
  openPullsQuery: () => 'state=open',
  descriptionLength: 140,
  asksAsAdmin: true,
};

export const DIALECTS: Readonly<Record<ForgeKind, Dialect>> = {
  gitea,
  forgejo: gitea,
  github: {
    headers: (token) => ({
      authorization: `Bearer ${token}`,
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
    }),
    pageQuery: 'per_page=100',
    statusField: 'state',
    openPullsQuery: (owner, branch) => `state=open&head=${encodeURIComponent(`${owner}:${branch}`)}`,
    descriptionLength: 140,
    asksAsAdmin: false,
  },
};

/** The API of a forge whose pages are at `url`, without a slash at its end. */
export function apiUrlOf(kind: ForgeKind, url: string): string {
  const base = url.replace(/\/+$/, '');
  if (kind !== 'github') return `${base}/api/v1`;
  return /^https:\/\/(?:www\.)?github\.com$/i.test(base) ? 'https://api.github.com' : `${base}/api/v3`;
}
