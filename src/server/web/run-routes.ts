import type { Hono } from 'hono';
import {
  type ApiMachines,
  type ApiPipeline,
  type ApiPipelineSummary,
  type ApiRunDetail,
  cancelBodySchema,
  pipelineQuerySchema,
  retryBodySchema,
  runQuerySchema,
  submitBodySchema,
} from '../../shared/api.ts';
import { VoleError } from '../../shared/errors.ts';
import { isFinal } from '../../shared/outcome.ts';
import { explainWait } from '../queue/explain-wait.ts';
import type { PipelineFilter, RetryRequest, Run } from '../store/store.ts';
import { agentOf } from './agent-view.ts';
import { jsonBody } from './body.ts';
import { idParam, parsed } from './faults.ts';
import type { WebParts } from './parts.ts';
import { machinesView, pipelineSummaryView, pipelineView, runDetailView, runView } from './views.ts';

/** Most runs of one pipeline that are listed beside one another. */
const SIBLINGS = 1000;

export async function knownRun(parts: WebParts, text: string | undefined): Promise<Run> {
  const id = idParam(text, 'run');
  const run = await parts.store.runs.get(id);
  if (run === null) throw new VoleError('not-found', `no run ${id}`);
  return run;
}

export async function runDetail(parts: WebParts, run: Run): Promise<ApiRunDetail> {
  const siblings = await parts.store.runs.list({ pipeline: run.pipeline, limit: SIBLINGS });
  const waits = run.state === 'queued' || run.state === 'received';
  const wait = waits ? await parts.store.runs.why(run.id) : null;
  return runDetailView(
    run,
    siblings,
    wait &&
      explainWait(wait, run, {
        sessions: parts.presence.sessions(),
        kept: parts.queue.roomKept(),
        nowMs: parts.clock.now(),
      }),
    await agentOf(parts, run),
  );
}

/** Who is connected, and what each runs. */
export function machinesNow(parts: WebParts): ApiMachines {
  return machinesView(parts.presence.sessions(), parts.queue.roomKept());
}

export async function pipelineDetail(parts: WebParts, id: number): Promise<ApiPipeline> {
  const pipeline = await parts.store.runs.pipeline(id);
  if (pipeline === null) throw new VoleError('not-found', `no pipeline ${id}`);
  return pipelineView(pipeline, await parts.store.runs.list({ pipeline: id, limit: SIBLINGS }));
}

export async function pipelinesNow(parts: WebParts, filter: PipelineFilter): Promise<ApiPipelineSummary[]> {
  return (await parts.store.runs.pipelines(filter)).map(pipelineSummaryView);
}

async function retried(parts: WebParts, request: RetryRequest): Promise<ApiPipeline> {
  const made = await parts.store.runs.retry(request);
  if (made === null) throw new VoleError('not-found', `no pipeline ${request.pipeline}`);
  if ('refused' in made) throw new VoleError('usage', made.refused);
  return pipelineDetail(parts, made.pipeline);
}

export function addRunRoutes(app: Hono, parts: WebParts): void {
  app.get('/api/runs', async (context) => {
    const query = parsed(runQuerySchema, context.req.query());
    const runs = await parts.store.runs.list({
      limit: query.limit,
      ...(query.repository === undefined ? {} : { repository: query.repository }),
      ...(query.state === undefined ? {} : { states: query.state }),
      ...(query.before === undefined ? {} : { before: query.before }),
    });
    const views = runs.map(async (run) => runView(run, await agentOf(parts, run)));
    return context.json({ runs: await Promise.all(views) });
  });

  app.get('/api/runs/:id', async (context) =>
    context.json(await runDetail(parts, await knownRun(parts, context.req.param('id')))),
  );

  app.post('/api/runs/:id/cancel', async (context) => {
    const id = idParam(context.req.param('id'), 'run');
    const body = await jsonBody(context, cancelBodySchema);
    const before = await parts.store.runs.get(id);
    const state = await parts.store.runs.cancel(id, body.why ?? 'cancelled by an administrator');
    if (state === 'not-found') throw new VoleError('not-found', `no run ${id}`);
    return context.json({ state, ended: before !== null && isFinal(before.state) });
  });

  app.post('/api/pipelines', async (context) => {
    const body = await jsonBody(context, submitBodySchema);
    const { pipeline } = await parts.pipelines.submit(body);
    return context.json(await pipelineDetail(parts, pipeline), 201);
  });

  app.get('/api/pipelines', async (context) => {
    const query = parsed(pipelineQuerySchema, context.req.query());
    return context.json({ pipelines: await pipelinesNow(parts, query) });
  });

  app.get('/api/pipelines/:id', async (context) =>
    context.json(await pipelineDetail(parts, idParam(context.req.param('id'), 'pipeline'))),
  );

  app.post('/api/runs/:id/retry', async (context) => {
    const run = await knownRun(parts, context.req.param('id'));
    return context.json(await retried(parts, { pipeline: run.pipeline, runs: [run.id] }), 201);
  });

  app.post('/api/pipelines/:id/retry', async (context) => {
    const pipeline = idParam(context.req.param('id'), 'pipeline');
    const { runs = null } = await jsonBody(context, retryBodySchema);
    return context.json(await retried(parts, { pipeline, runs }), 201);
  });

  app.get('/api/runners', (context) => context.json(machinesNow(parts)));
}
