import type { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewPipeline, NewRun } from '../../src/server/store/store.ts';
import { createApp } from '../../src/server/web/app.ts';
import { pipelineListSchema } from '../../src/shared/api.ts';
import { newPipeline, newRun, outcome, StoreRig } from '../support/store-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { Parts } from '../support/web-parts.ts';

const FAULT = '.vole.yml:3:5: no such key `stpes`\n.vole.yml:9:1: more';

let cleanup: Cleanup;
let rig: StoreRig;
let app: Hono;

beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await StoreRig.open(cleanup);
  app = createApp({ ...new Parts().parts(), store: rig.store });
});
afterEach(() => cleanup.run());

const made = (change: Partial<NewPipeline> = {}, ...runs: NewRun[]) =>
  rig.store.runs.createPipeline(newPipeline(runs, change));
const fault = (change: Partial<NewPipeline> = {}) => made({ fault: FAULT, ...change });

async function page(path: string): Promise<string> {
  const reply = await app.request(path, { headers: { host: 'localhost' } });
  expect(reply.status).toBe(200);
  return (await reply.text()).replace(/\s+/g, ' ');
}

/** What the rows of a page's table link to first, in order. */
async function rows(path: string): Promise<string[]> {
  const body = (await page(path)).split('<tbody>')[1] ?? '';
  return body
    .split('<tr>')
    .slice(1)
    .map((row) => /href="(\/(?:runs|pipelines)\/\d+)"/.exec(row)?.[1] ?? row);
}

async function listed(query = '') {
  const reply = await app.request(`/api/pipelines${query}`, { headers: { host: 'localhost' } });
  return pipelineListSchema.parse(await reply.json()).pipelines;
}

const ids = async (query = '') => (await listed(query)).map(({ id }) => id);

describe('the start page', () => {
  it('has pipelines with faults among the runs, each with the first line of it', async () => {
    await fault();
    await made({}, newRun({ key: 'a' }), newRun({ key: 'b' }));
    await fault();
    await made({}, newRun({ key: 'a' }));
    expect(await rows('/')).toEqual(['/runs/3', '/pipelines/3', '/runs/2', '/runs/1', '/pipelines/1']);
    const text = await page('/');
    expect(text).toContain('fault: .vole.yml:3:5: no such key `stpes`<');
    expect(text).not.toContain('more');
    expect(text).toContain('<a href="/pipelines">');
  });

  it('has each of them on one of its pages, and none twice', async () => {
    await fault();
    await made({}, newRun());
    await made({}, newRun());
    await fault();
    await made({}, newRun());
    expect(await rows('/?limit=2')).toEqual(['/runs/3', '/pipelines/4', '/runs/2']);
    expect(await page('/?limit=2')).toContain('href="/?limit=2&amp;before=2"');
    expect(await rows('/?limit=2&before=2')).toEqual(['/runs/1', '/pipelines/1']);
  });

  it('shows those of one repository, and those that failed, alone where that is asked for', async () => {
    await fault();
    await fault({ repository: 'team/other' });
    await made({}, newRun());
    expect(await rows('/?repository=team/other')).toEqual(['/pipelines/2']);
    expect(await rows('/?state=failed')).toEqual(['/pipelines/2', '/pipelines/1']);
    expect(await rows('/?state=queued')).toEqual(['/runs/1']);
  });

  it('says of each run that did not pass why', async () => {
    await made({}, newRun());
    const { run, attempt } = await rig.claimed();
    await rig.store.runs.record('build1', run, attempt, outcome('failed', { detail: 'test: exit 3' }), 0);
    expect(await page('/')).toContain('<td class="why">test: exit 3</td>');
  });

  it('links to the runs in each state, of the repository that it shows', async () => {
    const text = await page('/?repository=team%2Fapp&state=failed');
    expect(text).toContain('<li><a href="/?repository=team%2Fapp&amp;state=timed-out">timed-out</a></li>');
    expect(text).toContain('<li><a href="/?repository=team%2Fapp">all</a></li>');
    expect(text).toContain('<li>failed</li>');
  });
});

describe('the list of pipelines', () => {
  it('says of each how it stands', async () => {
    const [first] = (await made({ title: 'a change' }, newRun({ key: 'a' }), newRun({ key: 'b' }))).runs;
    await rig.finish(await rig.claimed());
    await rig.store.runs.cancel((first ?? 0) + 1, 'enough');
    await fault({ event: 'push', ref: 'refs/heads/topic' });
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: null });
    expect(await listed()).toMatchObject([
      {
        id: 2,
        event: 'push',
        fault: FAULT,
        states: {},
        summary: 'fault: .vole.yml:3:5: no such key `stpes`',
      },
      {
        id: 1,
        title: 'a change',
        fault: null,
        retryOf: null,
        states: { passed: 1, cancelled: 1 },
        summary: '1 of 2 passed, 1 cancelled',
      },
    ]);
    const text = await page('/pipelines');
    expect(await rows('/pipelines')).toEqual(['/pipelines/2', '/pipelines/1']);
    for (const shown of [
      '1 of 2 passed, 1 cancelled',
      'a change',
      'topic <code>aaaaaaaa',
      'fault: .vole.yml:3:5:',
    ])
      expect(text).toContain(shown);
  });

  it('names the pipeline that one is a retry of', async () => {
    await rig.store.repositories.add({ name: 'team/app', cloneUrl: '/app', maxJobs: null });
    await made({}, newRun());
    await rig.store.runs.cancel(1, 'enough');
    await rig.store.runs.retry({ pipeline: 1, runs: null });
    expect(await listed()).toMatchObject([
      { id: 2, retryOf: 1 },
      { id: 1, retryOf: null },
    ]);
    expect(await page('/pipelines')).toContain('a retry of <a href="/pipelines/1">1</a>');
  });

  it('is paged, the latest first, and may be of one repository', async () => {
    for (const repository of ['team/app', 'team/other', 'team/app']) await made({ repository }, newRun());
    expect(await ids()).toEqual([3, 2, 1]);
    expect(await ids('?limit=2')).toEqual([3, 2]);
    expect(await ids('?limit=2&before=2')).toEqual([1]);
    expect(await ids('?repository=team/app')).toEqual([3, 1]);
    expect(await page('/pipelines?limit=2')).toContain('href="/pipelines?limit=2&amp;before=2"');
    expect(await page('/pipelines?limit=2&before=2')).not.toContain('Older');
    const refused = await app.request('/api/pipelines?limit=201', { headers: { host: 'localhost' } });
    expect(refused.status).toBe(400);
  });
});
