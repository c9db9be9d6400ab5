import type { Hono } from 'hono';
import { type ApiEvent, eventQuerySchema, replayQuerySchema } from '../../shared/api-events.ts';
import { VoleError } from '../../shared/errors.ts';
import type { HookEvent } from '../events/event.ts';
import { MAX_BODY_BYTES } from '../hooks/body-budget.ts';
import type { StoredEvent } from '../store/event-store.ts';
import { boundedBody } from './body.ts';
import { parsed } from './faults.ts';
import type { WebParts } from './parts.ts';

/** What forges delivered, and what came of it. */
export function addEventRoutes(app: Hono, parts: WebParts): void {
  app.get('/api/events', async (context) => {
    const { repository, pending, limit, before } = parsed(eventQuerySchema, context.req.query());
    const events = await parts.store.events.list({
      limit,
      pendingOnly: pending === '1',
      ...(repository === undefined ? {} : { repository }),
      ...(before === undefined ? {} : { before }),
    });
    return context.json({ events: events.map(eventView) });
  });

  app.post('/api/events', async (context) => {
    const { repository, event = null, delivery } = parsed(replayQuerySchema, context.req.query());
    const body = await boundedBody(context, MAX_BODY_BYTES);
    const reply = await parts.intake.replay({ repository, event, delivery, body });
    if (reply.status >= 400) throw new VoleError(reply.status === 404 ? 'not-found' : 'usage', reply.text);
    return context.json({ event: reply.event ?? null, text: reply.text });
  });
}

function eventView(stored: StoredEvent): ApiEvent {
  return {
    id: stored.id,
    repository: stored.repository,
    forge: stored.forge,
    delivery: stored.delivery,
    kind: stored.event.kind,
    about: aboutOf(stored.event),
    receivedAtMs: stored.receivedAt,
    pending: stored.pending,
    result: stored.result,
    pipeline: stored.pipeline,
  };
}

function aboutOf(event: HookEvent): string {
  switch (event.kind) {
    case 'push':
      return event.ref;
    case 'pull_request':
      return `#${event.number}`;
    case 'command':
      return `#${event.issue} ${event.name} by ${event.author}`;
    case 'abort':
      return `#${event.issue} by ${event.author}`;
    case 'comment-deleted':
      return `#${event.issue}`;
    default:
      return event satisfies never;
  }
}
