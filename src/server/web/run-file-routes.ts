import { stat } from 'node:fs/promises';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { CHANGE_ARTIFACT } from '../../shared/agent/result.ts';
import {
  type ApiArtifacts,
  LOG_ATTEMPT_HEADER,
  LOG_NEXT_OFFSET_HEADER,
  logQuerySchema,
} from '../../shared/api.ts';
import { VoleError } from '../../shared/errors.ts';
import { isFinal } from '../../shared/outcome.ts';
import { faultReply, parsed } from './faults.ts';
import { fileStream } from './file-stream.ts';
import { type BreakOff, logStream } from './log-stream.ts';
import type { WebParts } from './parts.ts';
import { knownRun } from './run-routes.ts';

/** Breaks the connection: the reader must not take what it has for all there is. */
function breakOff(context: Context, parts: WebParts): BreakOff {
  return (error) => {
    if (error !== null) parts.onFault(error, `${context.req.method} ${context.req.path}`);
    (context.env as HttpBindings).outgoing.destroy();
  };
}

/** A run's log and its artifacts, as streams. */
export function addRunFileRoutes(app: Hono, parts: WebParts): void {
  app.get('/api/runs/:id/log', async (context) => {
    const run = await knownRun(parts, context.req.param('id'));
    const query = parsed(logQuerySchema, context.req.query());
    const attempt = query.attempt ?? Math.max(1, run.attempt);
    // One that may still begin is there for a follower alone.
    const awaited = query.follow === '1' && !isFinal(run.state);
    if (attempt > Math.max(1, run.attempt) && !awaited)
      throw new VoleError('not-found', `run ${run.id} has no attempt ${attempt}: it had ${run.attempt}`);
    const length = await parts.logs.length(run.id, attempt);
    if (query.offset > length) {
      return faultReply(context, 'usage', `offset ${query.offset} is past the log's ${length} bytes`, 416);
    }
    const follow = query.follow === '1';
    const endBytes = follow ? null : Math.min(length, query.offset + (query.maxBytes ?? length));
    const stream = logStream(
      parts,
      { run: run.id, attempt, offset: query.offset, endBytes },
      { closing: parts.closing, breakOff: breakOff(context, parts) },
    );
    context.header('content-type', 'text/plain; charset=utf-8');
    context.header(LOG_ATTEMPT_HEADER, String(attempt));
    if (endBytes !== null) context.header(LOG_NEXT_OFFSET_HEADER, String(endBytes));
    return context.body(stream);
  });

  app.get('/api/runs/:id/artifacts', async (context) => {
    const run = await knownRun(parts, context.req.param('id'));
    const artifacts = run.attempt === 0 ? [] : await parts.artifacts.list(run.id, run.attempt);
    const list: ApiArtifacts = {
      attempt: run.attempt,
      artifacts: artifacts.map(({ name, bytes }) => ({ name, file: fileNameOf(name), bytes })),
    };
    return context.json(list);
  });

  app.get('/api/runs/:id/artifacts/:name', async (context) => {
    const run = await knownRun(parts, context.req.param('id'));
    const name = context.req.param('name');
    const known = /^[A-Za-z0-9._-]{1,100}$/.test(name) && run.attempt > 0;
    const file = known ? await parts.artifacts.path(run.id, run.attempt, name) : null;
    if (file === null) throw new VoleError('not-found', `run ${run.id} has no artifact of this name`);
    const { size } = await stat(file);
    context.header('content-type', 'application/octet-stream');
    context.header('content-length', String(size));
    context.header('content-disposition', `attachment; filename="${fileNameOf(name)}"`);
    return context.body(fileStream(file, breakOff(context, parts)));
  });
}

/** Artifacts are packed folders, but for the one that an agent's change is handed in as. */
function fileNameOf(artifact: string): string {
  return `${artifact}.${artifact === CHANGE_ARTIFACT ? 'bundle' : 'tar.gz'}`;
}
