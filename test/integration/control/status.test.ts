import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlRig, PUBLIC_URL, REPOSITORY, SHA } from '../../support/control-rig.ts';
import { newPipeline, newRun, outcome } from '../../support/store-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await ControlRig.open();
  await rig.start();
});
afterEach(() => rig.cleanup.run());

const posted = () => rig.project.statuses.map(({ context, state }) => `${context} ${state}`);

describe('the status of a commit', () => {
  it('follows its run, and links to the page of the run', async () => {
    const [run] = await rig.queue(newRun({ key: 'test' }));
    await rig.settle();
    const leased = await rig.leased();
    await rig.settle();
    rig.clock.pass(7_000);
    await rig.finish(leased);
    await rig.settle();
    expect(posted()).toEqual(['vole/test pending', 'vole/test pending', 'vole/test success']);
    expect(rig.project.statuses.map(({ description }) => description)).toEqual([
      'queued',
      'running',
      'passed in 7 s',
    ]);
    expect(rig.project.shown(SHA)).toMatchObject([{ target_url: `${PUBLIC_URL}/runs/${run}` }]);
    expect(rig.faults).toEqual([]);
  });

  it('is one for each job, matrix entries apart', async () => {
    await rig.queue(newRun({ key: 'lint' }), newRun({ key: 'test (20)' }), newRun({ key: 'test (22)' }));
    await rig.settle();
    expect(posted().sort()).toEqual([
      'vole/lint pending',
      'vole/test (20) pending',
      'vole/test (22) pending',
    ]);
  });

  it('is set once where a run changes fast', async () => {
    await rig.queue(newRun({ key: 'test' }));
    await rig.finish(await rig.leased());
    await rig.settle();
    expect(posted()).toEqual(['vole/test success']);
  });

  it('is that of the latest run of the job, also where an older one ends after it', async () => {
    await rig.queue(newRun({ key: 'test' }));
    const first = await rig.leased();
    await rig.queue(newRun({ key: 'test' }));
    await rig.finish(await rig.leased());
    await rig.settle();
    await rig.finish(first, 'failed');
    await rig.settle();
    expect(posted()).toEqual(['vole/test success']);
  });

  it('is that of a retry: pending again, and then what came of it; of what is not retried it stays', async () => {
    const [lint, test] = await rig.queue(newRun({ key: 'lint' }), newRun({ key: 'test', needs: ['lint'] }));
    await rig.finish(await rig.leased());
    await rig.finish(await rig.leased(), 'failed');
    await rig.settle();
    await rig.store.runs.retry({ pipeline: 1, runs: [test ?? 0] });
    await rig.settle();
    await rig.finish(await rig.leased());
    await rig.settle();
    const of = (context: string) =>
      rig.project.statuses.filter((status) => status.context === context).map(({ state }) => state);
    expect(of('vole/test')).toEqual(['failure', 'pending', 'success']);
    expect(of('vole/lint')).toEqual(['success']);
    const links = rig.project.shown(SHA).map(({ target_url }) => target_url);
    expect(links.sort()).toEqual([`${PUBLIC_URL}/runs/${lint}`, `${PUBLIC_URL}/runs/3`]);
  });

  it('is not set again where nothing is different', async () => {
    await rig.queue(newRun({ key: 'test' }));
    await rig.settle();
    const { run, attempt } = await rig.leased();
    await rig.settle();
    const before = rig.forge.state.requests.length;
    // Given back and leased again within a moment: it is what it was.
    await rig.store.runs.record('build1', run, attempt, outcome('interrupted'), 0);
    await rig.leased();
    await rig.settle();
    expect(rig.forge.state.requests.slice(before)).toEqual([]);
  });

  it('of a workflow file with a fault names file, line and column, and links to the pipeline', async () => {
    const fault = `.vole.yml:3:5: no such key \`stpes\`; did you mean \`steps\`?\n.vole.yml:9:1: more`;
    await rig.store.runs.createPipeline(newPipeline([], { repository: REPOSITORY, sha: SHA, fault }));
    await rig.settle();
    expect(rig.project.shown(SHA)).toMatchObject([
      {
        context: 'vole',
        state: 'failure',
        description: '.vole.yml:3:5: no such key `stpes`; did you mean `steps`?',
        target_url: `${PUBLIC_URL}/pipelines/1`,
      },
    ]);
  });

  it('is found among more than a page of others where its fate is not known', async () => {
    for (let at = 0; at < 70; at += 1) {
      const other = { sha: SHA, context: `other/${at}`, state: 'success', description: '', target_url: '' };
      rig.project.statuses.push({ id: at, ...other });
    }
    const cut = rig.forge.fault({
      on: ({ method }) => method === 'POST',
      kind: 'drop',
      after: true,
      times: 1,
    });
    await rig.queue(newRun({ key: 'test' }));
    await rig.settle();
    expect(cut.hits).toBe(1);
    // Newer than ours, which is so on the second page.
    const mine = rig.project.statuses.pop();
    if (mine) rig.project.statuses.unshift(mine);
    rig.project.statuses.sort((a, b) => a.context.localeCompare(b.context));
    await rig.passUntilIdle();
    expect(posted().filter((line) => line.startsWith('vole/'))).toEqual(['vole/test pending']);
    expect(rig.forge.seen('GET', /\/status$/)).toHaveLength(2);
  });

  it('of a commit that the forge does not have is given up in the end', async () => {
    rig.project.commits = new Set();
    await rig.queue(newRun({ key: 'test' }));
    await rig.passUntilIdle();
    expect(await rig.dead()).toEqual([expect.stringMatching(/^status: POST .*\/statuses\/a+: HTTP 404/)]);
  });

  it('holds no secret of the repository', async () => {
    await rig.secrets.set(REPOSITORY, 'TOKEN', Buffer.from('very-secret-word'));
    await rig.queue(newRun({ key: 'test' }));
    const { run, attempt } = await rig.leased();
    const detail = 'step 1: cannot log in with very-secret-word';
    await rig.store.runs.record('build1', run, attempt, outcome('failed', { detail }), 0);
    await rig.settle();
    expect(rig.project.shown(SHA)[0]?.description).toBe('failed: step 1: cannot log in with ***');
  });
});
