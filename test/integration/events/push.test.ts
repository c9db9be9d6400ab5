import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig } from '../../support/event-rig.ts';
import { type PushFacts, pushPayload } from '../../support/payloads.ts';

const ONE_JOB = 'jobs: {test: {steps: [{run: "true"}]}}\n';

let rig: EventRig;
beforeEach(async () => (rig = await EventRig.start()));
afterEach(() => rig.close());

/** What came of the push that was delivered last. */
async function pushed(facts: PushFacts): Promise<string> {
  const reply = await rig.deliver('push', pushPayload(facts));
  expect(reply.status, reply.text).toBe(202);
  return (await rig.settled()).at(-1)?.result ?? '';
}

describe('a push', () => {
  it('becomes a pipeline of its commit, cloned from where the repository is registered', async () => {
    const workflow = `jobs:
  lint: {steps: [{run: "true"}]}
  test: {needs: [lint], steps: [{run: "true"}], strategy: {matrix: {node: [20, 22]}}}
`;
    const sha = rig.source.commit({ '.vole.yml': workflow }, 'first change\n\nmore of it');
    expect(await rig.deliver('push', pushPayload({ after: sha }))).toEqual({ status: 202, text: 'event 1' });
    expect(await rig.settled()).toMatchObject([{ id: 1, result: 'a pipeline', pipeline: 1 }]);
    expect(await rig.pipelines()).toMatchObject([
      { event: 'push', ref: 'refs/heads/main', sha, trust: 'trusted', title: 'first change', fault: null },
    ]);
    const runs = await rig.runs();
    expect(runs.map((run) => run.key)).toEqual(['lint', 'test (20)', 'test (22)']);
    expect(await rig.server.store.runs.specOf(runs[0]?.id ?? 0)).toMatchObject({
      source: { url: rig.source.dir, sha },
    });
  });

  it('of a branch that was deleted, or without commits, queues nothing and keeps nothing', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    const deleted = await rig.deliver('push', pushPayload({ before: sha, after: null, commits: 0 }));
    expect(deleted).toEqual({ status: 200, text: 'nothing to do: a branch or tag was deleted' });
    const empty = await rig.deliver('push', pushPayload({ before: null, after: sha, commits: 0 }));
    expect(empty).toEqual({ status: 200, text: 'nothing to do: the push brings no commits' });
    expect(await rig.deliver('delete', { ...pushPayload({ after: sha }), ref: 'x' })).toMatchObject({
      status: 200,
    });
    expect(await rig.events()).toEqual([]);
  });

  it('of a tag, also an annotated one, is of the commit it stands for', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    rig.source.git('tag', 'light');
    rig.source.git('tag', '-a', '-m', 'a tag', 'v1');
    const object = rig.source.git('rev-parse', 'v1');
    expect(object).not.toBe(sha);
    await pushed({ ref: 'refs/tags/light', before: null, after: sha, commits: 0 });
    await pushed({ ref: 'refs/tags/v1', before: null, after: object, commits: 0 });
    expect(await rig.pipelines()).toMatchObject([
      { ref: 'refs/tags/light', sha },
      { ref: 'refs/tags/v1', sha },
    ]);
  });

  it('of 2,000 commits is one pipeline', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    expect(await pushed({ after: sha, commits: 2_000 })).toBe('a pipeline');
    expect(await rig.runs()).toHaveLength(1);
  });

  it.each(['feature/ü#%2F', 'a/b/c', '日本語', "it's;$(x)&y"])(
    'of the branch %s keeps its name',
    async (name) => {
      rig.source.git('checkout', '-q', '-b', name);
      const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
      expect(await pushed({ ref: `refs/heads/${name}`, before: null, after: sha })).toBe('a pipeline');
      expect(await rig.pipelines()).toMatchObject([{ ref: `refs/heads/${name}`, sha, trust: 'trusted' }]);
    },
  );

  it('whose ref is none is refused', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    const reply = await rig.deliver('push', pushPayload({ ref: 'refs/heads/a..b', after: sha }));
    expect(reply.status).toBe(400);
    expect(await rig.deliver('push', pushPayload({ ref: 'refs/notes/x', after: sha }))).toMatchObject({
      status: 200,
    });
    expect(await rig.events()).toEqual([]);
  });

  it('with a fault in the workflow file is a failed pipeline that says where', async () => {
    const sha = rig.source.commit({ '.vole.yml': 'on: push\njobs:\n  a:\n    stepz: []\n' });
    expect(await pushed({ after: sha })).toBe('a failed pipeline');
    const [pipeline] = await rig.pipelines();
    expect(pipeline).toMatchObject({ sha, runs: [] });
    expect(pipeline?.fault).toMatch(/^\.vole\.yml:4:5: the key `stepz` is not known/m);
    const project = rig.forge.state.projects.get('team/app');
    const status = await rig.forge.state.until('a status', () => project?.statuses.at(-1));
    expect(status).toMatchObject({ sha, state: 'failure' });
    expect(status.description).toMatch(/^\.vole\.yml:4:5: /);
  });

  it('without a workflow file, without jobs, or that `on` does not name, queues nothing', async () => {
    expect(await pushed({ after: rig.source.commit({ readme: 'x' }) })).toBe(
      'nothing: there is no .vole.yml',
    );
    const commands = 'commands: {plan: {steps: [{run: "true"}]}}\n';
    expect(await pushed({ after: rig.source.commit({ '.vole.yml': commands }) })).toBe(
      'nothing: the workflow has no jobs',
    );
    for (const on of ['pull_request', '{push: {branches: [rel/*]}}', '{push: {tags: [v*]}}']) {
      const sha = rig.source.commit({ '.vole.yml': `on: ${on}\n${ONE_JOB}` });
      expect(await pushed({ after: sha })).toBe('nothing: `on` does not name the event');
    }
    expect(await rig.pipelines()).toEqual([]);
  });

  it('whose last commit says [skip ci] queues nothing, wherever in its message', async () => {
    const first = rig.source.commit({ '.vole.yml': ONE_JOB }, 'docs\n\nonly words [skip ci]');
    expect(await pushed({ after: first })).toBe('nothing: the commit asks to be skipped');
    expect(await pushed({ after: rig.source.commit({ a: '1' }, '[ci skip] x') })).toMatch(/^nothing/);
    expect(await pushed({ after: rig.source.commit({ a: '2' }, 'skip ci without brackets') })).toBe(
      'a pipeline',
    );
  });

  it('of a commit that is nowhere to be found is given up', async () => {
    rig.source.commit({ '.vole.yml': ONE_JOB });
    await rig.deliver('push', pushPayload({ after: 'f'.repeat(40) }));
    expect((await rig.settled()).at(-1)?.result).toBe('nothing: the commit is not in the repository');
  });

  it('of a repository that cannot be fetched is tried again, and holds back no other repository', async () => {
    const other = await rig.add('team/other');
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    const otherSha = other.commit({ '.vole.yml': ONE_JOB });
    await rig.server.store.repositories.set('team/app', { cloneUrl: '/not/there' });
    await rig.deliver('push', pushPayload({ after: sha }));
    await rig.deliver('push', pushPayload({ project: 'team/other', after: otherSha }), {
      repository: 'team/other',
    });
    await rig.eventIs(2, ({ pending }) => !pending);
    expect(await rig.runs()).toMatchObject([{ repository: 'team/other' }]);
    await rig.server.store.repositories.set('team/app', { cloneUrl: rig.source.dir });
    expect((await rig.settled()).map(({ result }) => result)).toEqual(['a pipeline', 'a pipeline']);
  });

  it('whose repository is removed is forgotten: another of the same name begins anew', async () => {
    const sha = rig.source.commit({ '.vole.yml': ONE_JOB });
    await rig.server.store.repositories.set('team/app', { cloneUrl: '/not/there' });
    await rig.deliver('push', pushPayload({ after: sha }));
    await rig.server.store.repositories.remove('team/app');
    expect(await rig.events()).toEqual([]);
    await rig.register('team/app', rig.source);
    expect(await pushed({ after: sha })).toBe('a pipeline');
    expect((await rig.events()).map(({ id }) => id)).toEqual([2]);
  });
});
