import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ForgeClient, ForgeComment } from '../forges/client.ts';
import type { Reply } from '../forges/reply.ts';
import type { Forge, Task } from '../store/control.ts';
import { done, failed, type TaskHandler, type TaskResult } from './handler.ts';
import { type ControlParts, hiderOf } from './parts.ts';
import { commentOfReply, commentOfRun, isMarked, markerOf, sameComment } from './wanted-comment.ts';

/** The forge's clock may be wrong, and `since` is by it. */
const CLOCK_SLACK_MS = 86_400_000;
const LOCKED = 423;

interface Wanted {
  readonly issue: number;
  readonly marker: string;
  readonly body: string;
}

const memorySchema = z.object({ id: z.number(), digest: z.string() });
type Memory = z.infer<typeof memorySchema>;

/** The comment of a command, brought to its run's state. */
export class CommentHandler implements TaskHandler<'comment'> {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async perform(task: Task<'comment'>): Promise<TaskResult> {
    const { store, publicUrl } = this.#parts;
    const run = await store.runs.get(task.payload.run);
    const command = await store.commands.of(task.payload.run);
    if (run === null || command === null) return done();
    const hide = await hiderOf(this.#parts, task.repository);
    const agent = await store.agents.resultOf(run.id);
    const kept = await store.agents.changeOf(run.id, run.attempt);
    const body = commentOfRun(run, command, publicUrl, hide, {
      report: agent?.report ?? '',
      // where the run came to no report of it
      pushed: agent?.change || kept?.published?.state !== 'pushed' ? null : kept.published,
    });
    return reconcile(this.#parts, task, { issue: command.issue, marker: markerOf('run', run.id), body });
  }
}

/** An answer to a comment that became no run. */
export class ReplyHandler implements TaskHandler<'reply'> {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async perform(task: Task<'reply'>): Promise<TaskResult> {
    const { issue, text } = task.payload;
    const body = commentOfReply(task.subject, text, await hiderOf(this.#parts, task.repository));
    return reconcile(this.#parts, task, { issue, marker: markerOf('comment', task.subject), body });
  }
}

/**
 * One comment with this marker and this text. Where it is known and nothing is different, nothing is sent; where
 * it was deleted, or its id was lost with a process, it is looked for before another is made.
 */
async function reconcile(
  parts: ControlParts,
  task: Task<'comment' | 'reply'>,
  wanted: Wanted,
): Promise<TaskResult> {
  const found = await parts.clients.for(task.repository);
  if (found === null) return done();
  const { client, forge } = found;
  const memory = memorySchema.safeParse(task.memory);
  const known = memory.success ? memory.data : null;
  const digest = createHash('sha256').update(wanted.body).digest('hex');
  if (known !== null && !task.unsure) {
    if (known.digest === digest) return done(known);
    return edit(parts, task, wanted, { client, forge, memory: { id: known.id, digest } });
  }
  if (known !== null) {
    const there = await client.comment(known.id);
    if (!there.ok) return failed(there);
    if (there.value !== null) return bring(parts, task, wanted, { client, forge, digest }, there.value);
  }
  if (known !== null || task.unsure) return findOrMake(parts, task, wanted, { client, forge, digest });
  return make(client, wanted, digest);
}

interface On {
  readonly client: ForgeClient;
  readonly forge: Forge;
}

async function edit(
  parts: ControlParts,
  task: Task<'comment' | 'reply'>,
  wanted: Wanted,
  on: On & { memory: Memory },
): Promise<TaskResult> {
  const edited = await on.client.editComment(on.memory.id, wanted.body);
  if (!edited.ok) return refusedOrFailed(edited);
  if (edited.value === 'edited') return done(on.memory);
  return findOrMake(parts, task, wanted, { ...on, digest: on.memory.digest });
}

async function bring(
  parts: ControlParts,
  task: Task<'comment' | 'reply'>,
  wanted: Wanted,
  on: On & { digest: string },
  there: ForgeComment,
): Promise<TaskResult> {
  const memory = { id: there.id, digest: on.digest };
  if (sameComment(there.body, wanted.body)) return done(memory);
  return edit(parts, task, wanted, { ...on, memory });
}

async function findOrMake(
  parts: ControlParts,
  task: Task<'comment' | 'reply'>,
  wanted: Wanted,
  on: On & { digest: string },
): Promise<TaskResult> {
  const bot = await botOf(parts, on);
  if (!bot.ok) return failed(bot);
  const comments = await on.client.comments(wanted.issue, task.createdAt - CLOCK_SLACK_MS);
  if (!comments.ok) return failed(comments);
  // Anybody can write the marker, and only what is ours is ours to change.
  const own = comments.value.find(
    ({ author, body }) => author.toLowerCase() === bot.value.toLowerCase() && isMarked(body, wanted.marker),
  );
  return own ? bring(parts, task, wanted, on, own) : make(on.client, wanted, on.digest);
}

async function make(client: ForgeClient, wanted: Wanted, digest: string): Promise<TaskResult> {
  const made = await client.createComment(wanted.issue, wanted.body);
  return made.ok ? done({ id: made.value, digest }) : refusedOrFailed(made);
}

/** Whose token it is now: another may have been put into its file. */
async function botOf(parts: ControlParts, { client, forge }: On): Promise<Reply<string>> {
  const me = await client.whoami();
  if (me.ok && me.value !== forge.botLogin) await parts.store.forges.noteBot(forge.repository, me.value);
  return me;
}

function refusedOrFailed(failure: Extract<Reply<unknown>, { ok: false }>): TaskResult {
  if (failure.status === LOCKED) return { type: 'impossible', why: failure.why };
  return failed(failure);
}
