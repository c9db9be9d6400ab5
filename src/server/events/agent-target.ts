import { type AgentSpec, MOST_TARGET_TEXT } from '../../shared/agent/spec.ts';
import type { ForgeComment, PullRequestHead } from '../forges/client.ts';
import type { ForgeClients } from '../forges/clients.ts';
import type { ForgeFailure } from '../forges/reply.ts';
import type { CommandEvent } from './event.ts';

/** What an agent is told of the issue or pull request, and what decides about its branch. */
export type TargetRead =
  | {
      readonly target: AgentSpec['target'];
      /** Null for an issue. */
      readonly head: PullRequestHead | null;
      /** `owner/name` as the forge has it. */
      readonly project: string;
    }
  | { readonly fault: string };

/** Asks the forge. Throws where it gives no answer that could be used: to be tried again later. */
export async function readTarget(
  clients: Pick<ForgeClients, 'for'>,
  repository: string,
  event: Pick<CommandEvent, 'issue' | 'pull'>,
): Promise<TargetRead> {
  const found = await clients.for(repository);
  if (found === null) return { fault: 'the repository has no forge any more' };
  const { client, forge } = found;
  const { issue: number, pull } = event;
  const issue = valueOf(await client.issue(number));
  if (issue === null)
    return { fault: `the forge has no ${pull ? 'pull request' : 'issue'} ${number} any more` };
  const head = pull ? valueOf(await client.pullRequest(number)) : null;
  const bot = forge.botLogin ?? valueOf(await client.whoami());
  const comments = valueOf(await client.comments(number, 0));
  const texts = boundedTexts({ ...issue, comments: comments.filter(({ author }) => !isSame(author, bot)) });
  return { target: { number, pull, ...texts }, head, project: forge.project };
}

export function isSame(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

const MOST_TITLE = 1_000;
const CUT = '\n... (cut)';

/** In all no more than an agent is shown: the text itself first, then the latest comments. Oldest first. */
export function boundedTexts(
  issue: { title: string; body: string; comments: readonly Pick<ForgeComment, 'author' | 'body'>[] },
  most = MOST_TARGET_TEXT,
): Pick<AgentSpec['target'], 'title' | 'body' | 'comments'> {
  const title = cut(issue.title, MOST_TITLE);
  const body = cut(issue.body, Math.floor(most / 2));
  let left = most - title.length - body.length;
  const comments: { author: string; body: string }[] = [];
  for (const comment of issue.comments.toReversed()) {
    left -= comment.author.length;
    if (left <= CUT.length) break;
    const text = cut(comment.body, left);
    left -= text.length;
    comments.unshift({ author: comment.author, body: text });
  }
  return { title, body, comments };
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  // not within a character
  return text.slice(0, most - CUT.length).replace(/[\ud800-\udbff]$/, '') + CUT;
}

function valueOf<T>(reply: { readonly ok: true; readonly value: T } | ForgeFailure): T {
  if (reply.ok) return reply.value;
  throw new Error(reply.why);
}
