import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { ForgeE2eRig } from '../support/forge-e2e-rig.ts';
import { voleCommand } from '../support/vole-command.ts';

let rig: Rig | ForgeE2eRig;
afterEach(() => rig.close());

interface Made {
  pipelines: { id: number; retryOf: number; runs: { id: number; job: string; state: string }[] }[];
}

describe('vole retry', () => {
  it('executes what failed and what needs it again, until it passes', async () => {
    const vole = await started();
    const gate = vole.cleanup.tempDir('vole-gate-');
    await vole.repository('team/app', {
      build: { steps: ['echo built'] },
      test: { needs: ['build'], steps: [`test -e ${gate}/1`] },
      pack: { needs: ['test'], steps: [`test -e ${gate}/2`] },
      deploy: { needs: ['pack', 'build'], steps: ['echo out'] },
    });
    vole.runner(['--jobs', '2']);
    const [build, test, pack, deploy] = await vole.submit('team/app');
    await vole.ended(deploy ?? 0);
    const log = await vole.rawLog(test ?? 0);
    writeFileSync(path.join(gate, '1'), '');
    const first = await command(vole, ['retry', String(test), '--wait']);
    expect([first.code, first.stderr]).toEqual([1, '']);
    expect(first.stdout).toMatch(
      /^pipeline 2, a retry of pipeline 1 {2}http:\S+\/pipelines\/2\nrun 5 {2}test +http/,
    );
    expect(first.stdout).toMatch(/^✓ test #5 +passed /m);
    expect(first.stdout).toMatch(/^✗ pack #6 +failed .*exit code 1$/m);
    expect(first.stdout).toMatch(/^. deploy #7 +cancelled .*it needs pack \(run 6\), which ended failed$/m);

    writeFileSync(path.join(gate, '2'), '');
    const second = await command(vole, ['retry', '--pipeline', '2', '--wait', '--json']);
    expect([second.code, second.stderr]).toEqual([0, '']);
    const [made] = (JSON.parse(second.stdout) as Made).pipelines;
    expect([made?.id, made?.retryOf]).toEqual([3, 2]);
    expect(made?.runs.map(({ job, state }) => `${job} ${state}`)).toEqual(['pack passed', 'deploy passed']);

    const before = await Promise.all([build, test, pack, deploy].map((id) => vole.run(id ?? 0)));
    expect(before.map(({ state }) => state)).toEqual(['passed', 'failed', 'cancelled', 'cancelled']);
    expect(await vole.rawLog(test ?? 0)).toBe(log);
    expect(await vole.runs()).toHaveLength(9);
  });

  it('takes the runs of one pipeline together, and has a pipeline for each', async () => {
    const vole = await started();
    await vole.repository('team/app', {
      a: { steps: ['true'] },
      b: { steps: ['true'] },
      both: { needs: ['a', 'b'], steps: ['true'] },
    });
    const [a, b] = await cancelled(vole);
    const [other] = await cancelled(vole);
    const { stdout } = await command(vole, ['retry', String(a), String(other), String(b), '--json']);
    const { pipelines } = JSON.parse(stdout) as Made;
    expect(pipelines.map(({ retryOf, runs }) => [retryOf, runs.map(({ job }) => job)])).toEqual([
      [1, ['a', 'b', 'both']],
      [2, ['a', 'b', 'both']],
    ]);
  });

  it('says in one line what it does not execute again', async () => {
    const vole = await started();
    await vole.repository('team/app', { test: { steps: ['true'] } });
    const [run] = await vole.submit('team/app');
    const fails = async (args: readonly string[], code: number, text: RegExp) => {
      const result = await command(vole, ['retry', ...args]);
      expect(result.stderr).toMatch(text);
      expect([result.code, result.stdout, result.stderr.trim().split('\n').length]).toEqual([code, '', 1]);
    };
    await fails(
      [String(run)],
      2,
      /^vole: run 1 \(test\) has not ended, it is queued: wait for it, or `vole cancel 1`/,
    );
    await fails(['--pipeline', '1'], 2, /has not ended/);
    vole.runner(['--jobs', '1']);
    await vole.ended(run ?? 0);
    await fails([`#${run}`], 2, /^vole: run 1 \(test\) passed: `vole submit` runs a job anew\n$/);
    await fails(['--pipeline', '1'], 2, /every run of pipeline 1 passed/);
    await fails(['99'], 66, /^vole: no run 99\n$/);
    await fails(['--pipeline', '99'], 66, /^vole: no pipeline 99\n$/);
    await fails([], 2, /which ones\? give runs, .*or --pipeline ID/);
    await fails(['1', '--pipeline', '1'], 2, /which ones\?/);
    await fails(['test'], 2, /'test' is no run/);
    await fails(['--pipeline', 'x'], 2, /--pipeline: 'x' is no pipeline/);
    expect(await vole.runs()).toHaveLength(1);
  });

  it('reaches a server by its address with the admin token alone', async () => {
    const vole = await started();
    await vole.repository('team/app', { test: { steps: ['true'] } });
    const [run] = await cancelled(vole);
    for (const route of [`/api/runs/${run}/retry`, '/api/pipelines/1/retry'])
      expect((await fetch(vole.facts.http + route, { method: 'POST' })).status).toBe(401);
    const page = await (await fetch(`${vole.facts.http}/runs/${run}`)).text();
    expect(page).toContain(`<code>vole retry ${run}</code>`);
    const tokenFile = path.join(vole.root, 'token');
    writeFileSync(tokenFile, vole.facts.token);
    const args = ['retry', String(run), '--url', vole.facts.http, '--token-file', tokenFile];
    expect((await voleCommand(args)).stdout).toContain('pipeline 2, a retry of pipeline 1');
    expect(await (await fetch(`${vole.facts.http}/runs/2`)).text()).toContain(
      'a retry of <a href="/pipelines/1">1</a>',
    );
    await vole.api('POST', '/api/runs/2/cancel', {});
    expect(await vole.api('POST', `/api/runs/${run}/retry`)).toMatchObject({
      id: 3,
      retryOf: 1,
      runs: [{ id: 3 }],
    });
  });

  it('of what a webhook brought sets the statuses of its commit anew; a comment is to be written again', async () => {
    const forge = await ForgeE2eRig.start();
    rig = forge;
    await forge.register();
    const gate = path.join(forge.vole.root, 'gate');
    forge.vole.runner(['--jobs', '1']);
    const workflow = `on: [push]
jobs:
  lint: {steps: [{run: "true"}]}
  test: {needs: [lint], steps: [{run: "test -e ${gate}"}]}
commands:
  plan: {steps: [{run: "exit 1"}]}
`;
    const sha = await forge.push({ '.vole.yml': workflow });
    const shown = (text: string) => forge.forge.state.until(text, () => forge.shown(sha).join() === text);
    await shown('vole/lint success,vole/test failure');
    // what is pushed meanwhile changes nothing of what is executed again
    forge.git.push({ '.vole.yml': 'jobs: {}\n' });
    writeFileSync(gate, '');
    const { code, stderr } = await forge.cli(['retry', '--pipeline', '1', '--wait']);
    expect([code, stderr]).toEqual([0, '']);
    await shown('vole/lint success,vole/test success');
    const of = forge.project.statuses.filter(({ context }) => context === 'vole/test');
    expect(of.at(-1)?.target_url).toMatch(/\/runs\/3$/);

    forge.git.push({ '.vole.yml': workflow });
    forge.project.issue(3);
    forge.forge.user(forge.project, 'alice', 'write');
    await forge.comment(3, 'alice', '/agent plan');
    await forge.vole.ended(4);
    const refused = await forge.cli(['retry', '4']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      'vole: run 4 (plan) is of a comment: comment the command again on its issue or pull request\n',
    ]);
  });
});

async function started(): Promise<Rig> {
  const vole = await Rig.start();
  rig = vole;
  return vole;
}

const command = (vole: Rig, args: readonly string[]) => voleCommand([...args, '--data', vole.dataDir]);

/** A pipeline whose runs were cancelled before any began. */
async function cancelled(vole: Rig): Promise<number[]> {
  const runs = await vole.submit('team/app');
  for (const run of runs) await vole.api('POST', `/api/runs/${run}/cancel`, {});
  return runs;
}
