import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig } from '../../support/event-rig.ts';
import { type PullFacts, pullPayload } from '../../support/payloads.ts';

const ONE_JOB = 'jobs: {test: {steps: [{run: "true"}]}}\n';

let rig: EventRig;
beforeEach(async () => (rig = await EventRig.start()));
afterEach(() => rig.close());

/** A commit that only the pull request's own ref holds, as that of a fork is. */
function proposed(number: number, files: Record<string, string>): string {
  rig.source.git('checkout', '-q', '--detach');
  const sha = rig.source.commit(files);
  rig.source.git('update-ref', `refs/pull/${number}/head`, sha);
  rig.source.git('checkout', '-q', 'main');
  return sha;
}

async function delivered(facts: PullFacts): Promise<string> {
  const reply = await rig.deliver('pull_request', pullPayload(facts));
  expect(reply.status, reply.text).toBe(202);
  return (await rig.settled()).at(-1)?.result ?? '';
}

describe('a pull request', () => {
  it.each([
    ['of a fork', 'stranger/app'],
    ['of a fork that was deleted', null],
  ])('%s runs as untrusted, at its own head', async (_, head) => {
    rig.source.commit({ '.vole.yml': 'jobs: {old: {steps: [{run: "true"}]}}\n' });
    const sha = proposed(7, { '.vole.yml': ONE_JOB });
    expect(await delivered({ sha, head, number: 7 })).toBe('a pipeline');
    expect(await rig.pipelines()).toMatchObject([
      { event: 'pull_request', ref: 'refs/pull/7/head', sha, trust: 'untrusted' },
    ]);
    expect((await rig.runs()).map(({ job }) => job)).toEqual(['test']);
  });

  it('of a fork stays untrusted though a branch has its commit', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    await delivered({ sha, head: 'stranger/app' });
    expect(await rig.pipelines()).toMatchObject([{ trust: 'untrusted' }]);
  });

  it('of a branch of the repository itself is trusted, unless the repository does not hold it', async () => {
    rig.source.commit({ '.vole.yml': ONE_JOB });
    rig.source.git('checkout', '-q', '-b', 'change');
    const own = rig.source.commit({ a: '1' });
    await delivered({ sha: own, number: 1 });
    rig.source.git('checkout', '-q', 'main');
    await delivered({ sha: proposed(2, { a: '2' }), number: 2 });
    expect((await rig.pipelines()).map(({ trust }) => trust)).toEqual(['trusted', 'untrusted']);
  });

  it('is looked at when it is opened, reopened or has new commits, as each forge says it', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    for (const action of ['opened', 'reopened', 'synchronized', 'synchronize'])
      expect(await delivered({ sha, action })).toBe('a pipeline');
    for (const action of ['closed', 'edited', 'labeled', 'assigned']) {
      const reply = await rig.deliver('pull_request', pullPayload({ sha, action }));
      expect(reply).toEqual({ status: 200, text: `nothing to do: a pull request that is ${action}` });
    }
    expect(await rig.events()).toHaveLength(4);
  });

  it('passes the filter of branches by the one that it goes into', async () => {
    const workflow = `on: {pull_request: {branches: ['rel/*']}}\n${ONE_JOB}`;
    const sha = rig.source.commit({ '.vole.yml': workflow });
    expect(await delivered({ sha, base: 'main' })).toBe('nothing: `on` does not name the event');
    expect(await delivered({ sha, base: 'rel/1' })).toBe('a pipeline');
  });

  it("is skipped by its last commit's message, not by its own text", async () => {
    rig.source.commit({ '.vole.yml': ONE_JOB });
    rig.source.git('commit', '-q', '--allow-empty', '-m', 'x [skip ci]');
    const sha = rig.source.git('rev-parse', 'HEAD');
    expect(await delivered({ sha })).toBe('nothing: the commit asks to be skipped');
  });
});
