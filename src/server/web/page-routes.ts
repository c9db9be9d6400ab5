import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import { type ApiPipelineSummary, pipelineQuerySchema, runQuerySchema } from '../../shared/api.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Run } from '../store/store.ts';
import { faultReply, idParam, parsed } from './faults.ts';
import { readTail } from './log-tail.ts';
import { ICON, SCRIPT, STYLE } from './pages/assets.ts';
import { errorPage, type Markup } from './pages/layout.ts';
import { pipelinePage } from './pages/pipeline-page.ts';
import { pipelinesPage } from './pages/pipelines-page.ts';
import { runPage } from './pages/run-page.ts';
import { runnersPage } from './pages/runners-page.ts';
import { runsPage } from './pages/runs-page.ts';
import type { WebParts } from './parts.ts';
import { knownRun, machinesNow, pipelineDetail, pipelinesNow, runDetail } from './run-routes.ts';
import { runView } from './views.ts';

/** A person who mistyped an address gets a page rather than JSON. */
async function orErrorPage(context: Context, render: () => Promise<Markup>): Promise<Response> {
  try {
    const markup = await render();
    return context.html(markup);
  } catch (error) {
    if (!(error instanceof VoleError)) throw error;
    const found = error.code !== 'not-found';
    const markup = errorPage(found ? 'Not understood' : 'Not found', oneLine(error));
    return context.html(await markup, found ? 400 : 404);
  }
}

/** A browser gets a page, unless it asked the API. */
export async function nothingHere(context: Context): Promise<Response> {
  const message = 'there is nothing at this address';
  const asksForPage = (context.req.header('accept') ?? '').includes('text/html');
  if (!asksForPage || context.req.path.startsWith('/api/')) return faultReply(context, 'not-found', message);
  return context.html(await errorPage('Not found', message), 404);
}

function wantsJson(context: Context): boolean {
  const accept = context.req.header('accept') ?? '';
  return accept.includes('application/json') && !accept.includes('text/html');
}

/** The same page from here on. */
function addressOf(context: Context, path: string, before: number): string {
  const query = new URLSearchParams(context.req.query());
  query.set('before', String(before));
  return `${path}?${query.toString()}`;
}

/**
 * The pipelines without runs that belong among those of a page of runs: ids of runs and of pipelines grow
 * together. `last` is its last run where older ones follow. A fault counts as failed.
 */
async function faultyBeside(
  parts: WebParts,
  { repository, state, before, limit }: z.output<typeof runQuerySchema>,
  last: Run | undefined,
): Promise<ApiPipelineSummary[]> {
  if (state !== undefined && !state.includes('failed')) return [];
  const newer = before === undefined ? null : await parts.store.runs.get(before);
  const after = last?.pipeline ?? 0;
  return pipelinesNow(parts, { repository, faulty: true, after, before: newer?.pipeline, limit });
}

export function addPageRoutes(app: Hono, parts: WebParts): void {
  const asset = (path: string, type: string, content: string) =>
    app.get(path, (context) => context.body(content, 200, { 'content-type': type }));
  asset('/assets/vole.css', 'text/css; charset=utf-8', STYLE);
  asset('/assets/page.js', 'text/javascript; charset=utf-8', SCRIPT);
  asset('/assets/icon.svg', 'image/svg+xml', ICON);

  app.get('/', (context) =>
    orErrorPage(context, async () => {
      const query = parsed(runQuerySchema, context.req.query());
      const repository = query.repository ?? null;
      const runs = await parts.store.runs.list({
        limit: query.limit,
        ...(repository === null ? {} : { repository }),
        ...(query.state === undefined ? {} : { states: query.state }),
        ...(query.before === undefined ? {} : { before: query.before }),
      });
      const last = runs.length === query.limit ? runs.at(-1) : undefined;
      return runsPage({
        runs: runs.map((run) => runView(run)),
        faulty: await faultyBeside(parts, query, last),
        nowMs: parts.clock.now(),
        repository,
        states: query.state ?? null,
        older: last ? addressOf(context, '/', last.id) : null,
      });
    }),
  );

  app.get('/runs/:id', (context) =>
    orErrorPage(context, async () => {
      const run = await knownRun(parts, context.req.param('id'));
      const attempt = Math.max(1, run.attempt);
      return runPage({
        run: await runDetail(parts, run),
        artifacts: run.attempt === 0 ? [] : await parts.artifacts.list(run.id, attempt),
        tail: await readTail(parts.logs, run.id, attempt),
        nowMs: parts.clock.now(),
      });
    }),
  );

  app.get('/pipelines', (context) =>
    orErrorPage(context, async () => {
      const query = parsed(pipelineQuerySchema, context.req.query());
      const pipelines = await pipelinesNow(parts, query);
      const last = pipelines.length === query.limit ? pipelines.at(-1) : undefined;
      return pipelinesPage({
        pipelines,
        nowMs: parts.clock.now(),
        repository: query.repository ?? null,
        older: last ? addressOf(context, '/pipelines', last.id) : null,
      });
    }),
  );

  app.get('/pipelines/:id', (context) =>
    orErrorPage(context, async () => {
      const id = idParam(context.req.param('id'), 'pipeline');
      return pipelinePage(await pipelineDetail(parts, id), parts.clock.now());
    }),
  );

  app.get('/runners.json', (context) => context.json(machinesNow(parts)));
  app.get('/runners', async (context) => {
    const machines = machinesNow(parts);
    context.header('vary', 'accept');
    if (wantsJson(context)) return context.json(machines);
    return context.html(await runnersPage(machines, parts.clock.now()));
  });
  app.get('/favicon.ico', (context) => context.redirect('/assets/icon.svg'));
}
