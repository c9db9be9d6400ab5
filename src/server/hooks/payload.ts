import { z } from 'zod';
import type { ForgeKind } from '../../shared/api-forge.ts';
import { refFault } from '../../shared/api-names.ts';
import type { HookEvent } from '../events/event.ts';
import { askedBy } from './command-text.ts';

/** What a signed body says. `project` is the forge's name of the repository that it is about. */
export type Reading =
  | { readonly type: 'event'; readonly project: string; readonly event: HookEvent }
  | { readonly type: 'nothing'; readonly project: string | null; readonly why: string }
  | { readonly type: 'malformed'; readonly why: string };

export interface ReadingRules {
  /** The word that commands begin with, without its slash. */
  readonly commandWord: string;
  /** Vole's own login on the forge, where it is known. */
  readonly botLogin: string | null;
}

/** Every comment of vole's own holds it. */
export const OWN_MARKER = '<!-- vole:';

const hash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const project = z.object({ full_name: z.string().min(1).max(400) });
const login = z.object({ login: z.string().min(1).max(300) });
const number = z.number().int().positive();

const anySchema = z.object({ repository: project });
const pushSchema = z.object({
  ref: z.string(),
  before: hash,
  after: hash,
  deleted: z.boolean().optional(),
  commits: z.array(z.unknown()).nullish(),
  total_commits: z.number().nullish(),
});
const pullSchema = z.object({
  action: z.string(),
  number,
  pull_request: z.object({
    head: z.object({ sha: hash, repo: project.nullish() }),
    base: z.object({ ref: z.string().min(1).max(500), repo: project.nullish() }),
  }),
});
const commentSchema = z.object({
  action: z.string(),
  is_pull: z.boolean().optional(),
  issue: z.object({ number, pull_request: z.unknown().optional() }),
  comment: z.object({ id: number, body: z.string().nullish(), user: login.nullish() }),
});

/**
 * What vole acts on of a delivery, by its event's name and its parsed body. Gitea, Forgejo and GitHub say
 * it in the same shapes, with a few differences that are named where they matter.
 */
export function readPayload(name: string, json: unknown, rules: ReadingRules): Reading {
  const any = anySchema.safeParse(json);
  if (!any.success) {
    return name === 'ping' ? nothing(null, 'a ping') : malformed('the body names no repository');
  }
  const at = any.data.repository.full_name;
  switch (name) {
    case 'push':
      return readPush(at, json);
    case 'pull_request':
      return readPull(at, json);
    case 'issue_comment': // of pull requests too; a comment in a review is another event
      return readComment(at, json, rules);
    default:
      return nothing(at, `events named ${name.slice(0, 50)} start nothing`);
  }
}

const ZERO = /^0+$/;

function readPush(at: string, json: unknown): Reading {
  const parsed = pushSchema.safeParse(json);
  if (!parsed.success) return malformedBy(parsed.error);
  const { ref, before, after, commits, total_commits: total, deleted } = parsed.data;
  const tag = ref.startsWith('refs/tags/');
  if (!tag && !ref.startsWith('refs/heads/')) return nothing(at, 'it is neither a branch nor a tag');
  if (deleted || ZERO.test(after)) return nothing(at, 'a branch or tag was deleted');
  const wrong = refFault(ref);
  if (wrong !== null) return malformed(`ref: ${wrong}`);
  // a tag's push lists no commits though it points to one
  if (!tag && (commits?.length ?? 0) === 0 && (total ?? 0) === 0)
    return nothing(at, 'the push brings no commits');
  return found(at, { kind: 'push', ref, before: ZERO.test(before) ? null : before, after });
}

/** New commits are `synchronized` in Gitea and `synchronize` in GitHub. */
const CHANGING = ['opened', 'reopened', 'synchronize', 'synchronized'];

function readPull(at: string, json: unknown): Reading {
  const parsed = pullSchema.safeParse(json);
  if (!parsed.success) return malformedBy(parsed.error);
  const { action, number, pull_request: pull } = parsed.data;
  if (!CHANGING.includes(action)) return nothing(at, `a pull request that is ${action.slice(0, 50)}`);
  const { head, base } = pull;
  // the repository of the head is null where the fork was deleted
  const fork = head.repo?.full_name.toLowerCase() !== at.toLowerCase();
  return found(at, { kind: 'pull_request', number, base: base.ref, sha: head.sha, fork });
}

function readComment(at: string, json: unknown, rules: ReadingRules): Reading {
  const parsed = commentSchema.safeParse(json);
  if (!parsed.success) return malformedBy(parsed.error);
  const { action, issue, comment, is_pull: isPull } = parsed.data;
  const body = comment.body ?? '';
  if (action === 'deleted' && body.includes(OWN_MARKER))
    return found(at, { kind: 'comment-deleted', issue: issue.number, body: body.slice(0, 10_000) });
  if (action !== 'created') return nothing(at, `a comment that was ${action.slice(0, 50)}`);
  const author = comment.user?.login ?? null;
  if (author === null) return nothing(at, 'a comment of nobody');
  if (body.includes(OWN_MARKER) || author.toLowerCase() === rules.botLogin?.toLowerCase())
    return nothing(at, "vole's own comment");
  const asked = askedBy(body, rules.commandWord);
  if (asked === null) return nothing(at, 'a comment that asks for nothing');
  // GitHub has this object only where the issue is a pull request, Gitea null where not, and `is_pull` beside
  const pull = isPull ?? (issue.pull_request !== null && issue.pull_request !== undefined);
  const by = { issue: issue.number, pull, comment: comment.id, author };
  return asked.type === 'abort'
    ? found(at, { kind: 'abort', ...by })
    : found(at, { kind: 'command', ...by, name: asked.name, message: asked.message });
}

function found(project: string, event: HookEvent): Reading {
  return { type: 'event', project, event };
}

function nothing(project: string | null, why: string): Reading {
  return { type: 'nothing', project, why };
}

function malformed(why: string): Reading {
  return { type: 'malformed', why };
}

function malformedBy(error: z.ZodError): Reading {
  const issue = error.issues[0];
  return malformed(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`);
}

/** The event's name where only a body is at hand, or null. */
export function eventByShape(json: unknown): string | null {
  if (typeof json !== 'object' || json === null) return null;
  if ('comment' in json && 'issue' in json) return 'issue_comment';
  if ('pull_request' in json && 'number' in json) return 'pull_request';
  return 'ref' in json && 'after' in json ? 'push' : null;
}

/** Headers that name event and delivery, the preferred first. */
const NAMES: Readonly<Record<ForgeKind, readonly string[]>> = {
  gitea: ['x-gitea'],
  forgejo: ['x-forgejo', 'x-gitea'],
  github: ['x-github'],
};

export function eventNameOf(forge: ForgeKind, header: (name: string) => string | null): string | null {
  return firstOf(NAMES[forge].map((prefix) => header(`${prefix}-event`)));
}

export function deliveryIdOf(forge: ForgeKind, header: (name: string) => string | null): string | null {
  return firstOf(NAMES[forge].map((prefix) => header(`${prefix}-delivery`)));
}

function firstOf(values: readonly (string | null)[]): string | null {
  return values.find((value) => value !== null && value !== '') ?? null;
}
