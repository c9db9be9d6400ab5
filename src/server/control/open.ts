import { AbortHandler } from './abort.ts';
import { AuthoriseHandler } from './authorise.ts';
import { CommentHandler, ReplyHandler } from './comment.ts';
import type { ControlParts } from './parts.ts';
import { StatusHandler } from './status.ts';
import { ControlWorker, type ControlWorkerParts } from './worker.ts';

type Parts = ControlParts & Omit<ControlWorkerParts, 'tasks' | 'handlers'>;

/** The worker of the control tasks with what it does for each kind; not yet started. */
export function controlWorker(parts: Parts): ControlWorker {
  return new ControlWorker({
    tasks: parts.store.tasks,
    events: parts.events,
    handlers: {
      authorise: new AuthoriseHandler(parts),
      abort: new AbortHandler(parts),
      comment: new CommentHandler(parts),
      reply: new ReplyHandler(parts),
      status: new StatusHandler(parts),
    },
    clock: parts.clock,
    random: parts.random,
    onFault: parts.onFault,
    onDead: parts.onDead,
  });
}
