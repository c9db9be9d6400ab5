import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentFlowRig, bash, verdict } from '../support/agent-flow-rig.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let rig: AgentFlowRig;
beforeAll(async () => {
  rig = await AgentFlowRig.start();
});
afterAll(() => rig.close());
beforeEach(() => rig.model.forget());

const names = (steps: readonly { name: string }[]): string[] => steps.map(({ name }) => name);

describe('plan', () => {
  test('is drafted, rejected by a fresh session, revised by its author and accepted', async () => {
    const remote = rig.remote();
    rig.model.answer(
      { say: 'First plan.' },
      verdict('revise', 'Name the file.'),
      { say: 'Change a.txt.' },
      verdict('accept'),
    );
    const run = rig.start(remote, { command: 'plan', message: 'be quick' });
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'passed', reason: null, detail: '' });
    expect(outcome.agent).toMatchObject({
      plan: { text: 'Change a.txt.', accepted: true },
      rounds: 2,
      change: null,
      session: { engine: 'opencode' },
      report: '**Plan**, accepted after 2 rounds of review.\n\nChange a.txt.',
    });
    expect(names(outcome.steps)).toEqual(['start', 'draft 1', 'review 1', 'draft 2', 'review 2']);
    expect(outcome.steps.every(({ durationMs }) => durationMs > 0)).toBe(true);
    expect(rig.model.asked.map(({ model }) => model)).toEqual(Array(4).fill('planner'));
    expect(rig.shown(1)).toContain('be quick');
    // The reviewer is shown the plan and has not seen the conversation; the author has.
    expect(rig.shown(4)).toContain('Change a.txt.');
    expect(rig.shown(4)).not.toContain('Name the file.');
    expect(rig.shown(3)).toMatch(/First plan\..*Name the file\./);
    expect(run.artifacts).toEqual([]);
    expect(run.published).toEqual([]);
  });

  test('that writes all the same changes nothing', async () => {
    const remote = rig.remote();
    rig.model.answer(
      bash('echo bad > a.txt'),
      { call: [{ tool: 'write', input: { filePath: 'a.txt', content: 'bad' } }] },
      { say: 'A plan.' },
      verdict('accept'),
    );
    const run = rig.start(remote, { command: 'plan' });
    expect((await run.ended).outcome.result).toBe('passed');
    expect(readFileSync(path.join(run.paths.src, 'a.txt'), 'utf8')).toBe('one\n');
  });

  test('that no round accepts has failed, and is shown with what is open', async () => {
    const remote = rig.remote();
    rig.model.answer({ say: 'A plan.' }, verdict('revise', 'No tests.'));
    const run = rig.start(remote, { command: 'plan' }, { options: { planReviewRounds: 1 } });
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({
      result: 'failed',
      reason: 'agent',
      detail: 'the plan was not accepted after 1 round of review',
      agent: { plan: { text: 'A plan.', accepted: false }, rounds: 1 },
    });
    expect(outcome.agent?.report).toMatch(/A plan\.[\s\S]*No tests\./);
    expect(outcome.steps.at(-1)).toMatchObject({ name: 'review 1', result: 'failed', reason: 'agent' });
  });

  test('that is asked for again goes on in the same session; in another store it is begun anew', async () => {
    const remote = rig.remote();
    rig.model.answer({ say: 'The first plan.' }, verdict('accept'));
    const first = await rig.start(remote, { command: 'plan' }).ended;
    const session = first.outcome.agent?.session ?? null;
    rig.model.forget();
    rig.model.answer({ say: 'The second plan.' }, verdict('accept'));
    const again = rig.start(remote, { command: 'plan', message: 'and shorter', session });
    const { outcome } = await again.ended;
    expect(outcome.agent).toMatchObject({ plan: { text: 'The second plan.' }, session });
    expect(rig.shown(1)).toMatch(/The first plan\..*and shorter/);

    rig.model.forget();
    rig.model.answer({ say: 'The third plan.' }, verdict('accept'));
    const elsewhere = session && { ...session, home: 'elsewhere/0' };
    const third = rig.start(remote, { command: 'plan', session: elsewhere });
    const anew = await third.ended;
    expect(anew.outcome.agent?.session?.id).not.toBe(session?.id);
    expect(rig.shown(1)).not.toContain('The first plan.');
    expect(third.lines('v', 0).join('\n')).toContain("in another runner's store");
  });

  test('has a first look by its own model where there is one', async () => {
    const remote = rig.remote();
    const options = { models: { ...MODELS, explore: { model: 'builder', variant: null } } };
    rig.model.answer({ say: 'It is in a.txt.' }, { say: 'A plan.' }, verdict('accept'));
    const { outcome } = await rig.start(remote, { command: 'plan' }, { options }).ended;
    expect(names(outcome.steps)).toEqual(['start', 'explore', 'draft 1', 'review 1']);
    expect(rig.model.asked.map(({ model }) => model)).toEqual(['builder', 'planner', 'planner']);
    expect(rig.shown(2)).toContain('It is in a.txt.');
  });

  test("keeps another engine's session as it is, and starts no turn", async () => {
    const session = { engine: 'other', id: 'x', home: 'y' };
    const run = rig.start(rig.remote(), { command: 'plan', session });
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'agent', agent: { session } });
    expect(outcome.agent?.report).toContain('--fresh');
    expect(rig.model.asked).toEqual([]);
  });
});

const MODELS = {
  explore: null,
  plan: { model: 'planner', variant: null },
  build: { model: 'builder', variant: null },
};

describe('implement', () => {
  const implement = { command: 'implement', plan: 'Change a.txt.', branch: 'agent/issue-12' } as const;

  test('is rejected once, built on, and pushed as exactly one commit of what belongs in it', async () => {
    const remote = rig.remote();
    const hooks =
      'mkdir h; printf "#!/bin/sh\\ntouch $PWD/../proof\\n" > h/pre-commit; chmod +x h/pre-commit';
    rig.model.answer(
      bash('echo two > a.txt; mkdir out; echo x > out/built; echo x > ../outside'),
      bash('git -c user.name=x -c user.email=x@example.org commit -qam one'),
      { say: 'Changed it.' },
      verdict('revise', 'Test it.'),
      bash(`${hooks}; git config core.hooksPath $PWD/h; git config core.fsmonitor $PWD/h/pre-commit`),
      bash('echo test > test.txt; rm -r h'),
      { say: 'Tested it.' },
      verdict('accept'),
    );
    const run = rig.start(remote, implement);
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'passed', detail: '' });
    expect(names(outcome.steps)).toEqual([
      'start',
      'build 1',
      'compare',
      'review 1',
      'build 2',
      'compare',
      'review 2',
      'commit',
      'publish',
    ]);
    const [commit = '', ...more] = remote.added('agent/issue-12');
    expect(more).toEqual([]);
    expect(remote.git.git('rev-list', '--parents', '-1', commit)).toBe(`${commit} ${remote.head}`);
    expect(remote.files(commit)).toEqual(['.gitignore', 'a.txt', 'test.txt']);
    expect(remote.git.git('show', `${commit}:a.txt`)).toBe('two');
    expect(remote.git.git('show', '-s', '--format=%an <%ae> %s%n%b', commit)).toBe(
      `vole-bot <bot@example.org> It breaks (#12)\nTested it.\n\nVole-Run: ${run.spec.run}`,
    );
    expect(existsSync(path.join(run.paths.tree, 'proof'))).toBe(false);
    expect(run.published).toEqual([
      {
        commit,
        parent: remote.head,
        title: 'It breaks (#12)',
        body: expect.stringMatching(/^Accepted after 2 rounds of review\. Closes #12\.[\s\S]*Tested it\./),
      },
    ]);
    expect(outcome.agent).toMatchObject({
      rounds: 2,
      plan: null,
      change: { commit, branch: 'agent/issue-12', pull: { number: 13 }, rebased: false },
    });
    expect(outcome.agent?.report).toMatch(/\[#13\][\s\S]*M a\.txt\n {4}A test\.txt/);
    expect(rig.model.asked.map(({ model }) => model)).toEqual([
      ...Array(3).fill('builder'),
      'planner',
      ...Array(3).fill('builder'),
      'planner',
    ]);
    expect(rig.shown(4)).toMatch(/\+two/);
    expect(rig.shown(5)).toMatch(/Changed it\..*Test it\./);
  });

  test('without a plan says how to get one, and starts no turn', async () => {
    const { outcome } = await rig.start(rig.remote(), { ...implement, plan: null }).ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'agent' });
    expect(outcome.detail).toContain('`plan` first');
    expect(rig.model.asked).toEqual([]);
  });

  test('that is never accepted is pushed, and says what is open', async () => {
    const remote = rig.remote();
    rig.model.answer(bash('echo two > a.txt'), { say: 'Done.' }, verdict('revise', 'It leaks.'));
    const run = rig.start(remote, implement, { options: { implementReviewRounds: 1 } });
    const { outcome } = await run.ended;
    expect(outcome.result).toBe('passed');
    expect(remote.added('agent/issue-12')).toHaveLength(1);
    expect(run.published[0]?.body).toContain('It leaks.');
    expect(outcome.agent?.report).toMatch(/\*\*Not accepted\*\* after 1 round[\s\S]*It leaks\./);
  });

  test('that changes nothing has failed, and there is no commit', async () => {
    const remote = rig.remote();
    rig.model.answer(bash('echo x > out'), bash('rm out; git commit --allow-empty -m x'), {
      say: 'Which file?',
    });
    const run = rig.start(remote, implement);
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'agent', detail: 'the agent changed nothing' });
    expect(outcome.agent?.report).toContain('Which file?');
    expect([run.artifacts, run.published]).toEqual([[], []]);
  });

  test('whose verdict is nonsense, twice, is not accepted', async () => {
    const remote = rig.remote();
    rig.model.answer(bash('echo two > a.txt'), { say: 'Done.' }, { say: 'I like it.' });
    const run = rig.start(remote, implement);
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({
      result: 'failed',
      reason: 'agent',
      detail: 'review 1: the reviewer gave no verdict, asked twice',
      agent: { change: null },
    });
    expect(run.published).toEqual([]);
  });

  test('whose push fails says where the change is kept', async () => {
    const remote = rig.remote();
    rig.model.answer(bash('echo two > a.txt'), { say: 'Done.' }, verdict('accept'));
    const run = rig.start(remote, implement);
    run.publish = async () => ({ state: 'failed', why: 'the branch is protected' });
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({
      result: 'failed',
      reason: 'push',
      detail: 'not pushed: the branch is protected',
      agent: { change: null },
    });
    expect(outcome.agent?.report).toContain('artifact `vole-agent-change`');
    expect(run.artifacts.map(({ name }) => name)).toEqual(['vole-agent-change']);
  });

  test('that leaves something running has it ended before the work tree is looked at', async () => {
    const remote = rig.remote();
    const daemon = 'setsid sh -c "while sleep 0.02; do date +%N > a.txt; done" >/dev/null 2>&1 &';
    rig.model.answer(bash(daemon), bash('sleep 0.2'), { say: 'Done.' }, verdict('accept'));
    const run = rig.start(remote, implement);
    const { outcome } = await run.ended;
    expect(outcome.result).toBe('passed');
    const inTree = readFileSync(path.join(run.paths.src, 'a.txt'), 'utf8').trim();
    expect(remote.git.git('show', 'agent/issue-12:a.txt')).toBe(inTree);
    expect(run.records.map(({ text }) => text).join('\n')).toMatch(/ended process \d+/);
  });
});

describe('fix', () => {
  test('is one turn and one commit on the branch of the pull request, and keeps no session', async () => {
    const remote = rig.remote();
    rig.model.answer(bash('echo fixed > a.txt'), { say: 'Fixed.' });
    const target = { number: 12, pull: true, title: 'Add it', body: '', comments: [] };
    const run = rig.start(remote, { command: 'fix', branch: 'topic', target, message: 'the typo' });
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'passed', agent: { session: null, rounds: 0, plan: null } });
    expect(names(outcome.steps)).toEqual(['start', 'fix', 'compare', 'commit', 'publish']);
    expect(remote.added('topic')).toHaveLength(1);
    expect(remote.git.git('show', 'topic:a.txt')).toBe('fixed');
    expect(rig.shown(1)).toContain('the typo');
  });
});

test("the runner's own settings of git, such as filters, are no change of the agent's", async () => {
  const remote = rig.remote({ 'a.txt': 'one\n', 'b.txt': 'two\n', '.gitattributes': '*.txt filter=loud\n' });
  const settings = path.join(rig.worker.home, '.gitconfig');
  writeFileSync(settings, '[filter "loud"]\n\tsmudge = tr a-z A-Z\n[core]\n\tautocrlf = true\n');
  rig.model.answer(bash('echo fixed > a.txt'), { say: 'Fixed.' });
  const run = rig.start(remote, { command: 'fix', branch: 'quiet' });
  const { outcome } = await run.ended;
  rmSync(settings);
  expect(outcome.result).toBe('passed');
  expect(remote.git.git('diff', '--name-status', remote.head, 'quiet')).toBe('M\ta.txt');
});

describe('what ends a run early', () => {
  test('a provider that refuses is reported as that', async () => {
    rig.model.answer({ status: 401, body: '{"error":{"message":"no such key"}}' });
    const { outcome } = await rig.start(rig.remote(), { command: 'plan' }).ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'provider', agent: { plan: null } });
    expect(outcome.detail).toMatch(/^draft 1: /);
  });

  test('a turn over its time is timed out, and keeps its session', async () => {
    rig.model.answer({ hang: 'after-headers' });
    const run = rig.start(rig.remote(), { command: 'plan' }, { options: { turnTimeoutMs: 1_500 } });
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'timed-out', reason: 'timeout' });
    expect(outcome.detail).toMatch(/^step 2 \(draft 1\): (?!draft)/);
    expect(outcome.agent?.session?.engine).toBe('opencode');
  });

  test('a cancel during a model call ends it at once', async () => {
    rig.model.answer({ hang: 'at-once' });
    const run = rig.start(rig.remote(), { command: 'plan' });
    await rig.model.called(1);
    const start = performance.now();
    run.cancel();
    const { outcome, gone } = await run.ended;
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(gone).toBe(true);
    expect(outcome).toMatchObject({ result: 'cancelled', reason: 'cancelled' });
    expect(outcome.agent).toMatchObject({ report: '', session: { engine: 'opencode' } });
  });

  test('a cancel during a tool call ends what it runs', async () => {
    rig.model.answer(bash('echo $$ > pid; exec sleep 300'));
    const run = rig.start(rig.remote(), { command: 'fix', branch: 'topic' });
    const file = path.join(run.paths.src, 'pid');
    await expect
      .poll(() => existsSync(file) && readFileSync(file, 'utf8').trim(), { timeout: 30_000 })
      .toBeTruthy();
    run.cancel();
    const { outcome, gone } = await run.ended;
    expect([outcome.result, gone]).toEqual(['cancelled', true]);
  });

  test('a cancel during the push says that it may have been pushed', async () => {
    rig.model.answer(bash('echo fixed > a.txt'), { say: 'Fixed.' });
    const run = rig.start(rig.remote(), { command: 'fix', branch: 'topic' });
    run.publish = (_, signal) => {
      run.cancel();
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ state: 'failed', why: 'too late' }));
      });
    };
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'cancelled', reason: 'cancelled' });
    expect(outcome.agent?.report).toMatch(/being pushed: whether it was, the branch shows/);
  });
});

test('an agent that puts something else in the place of its workspace has no commit', async () => {
  rig.model.answer(bash('printf "cd ..; mv src other; ln -s other src" > x.sh; sh x.sh'), { say: 'Done.' });
  const run = rig.start(rig.remote(), { command: 'fix', branch: 'topic' });
  const { outcome } = await run.ended;
  expect(outcome).toMatchObject({ result: 'failed', reason: 'agent', agent: { change: null } });
  expect(outcome.detail).toMatch(/workspace/);
  expect(run.published).toEqual([]);
});

describe('install scripts', () => {
  const withScript = (text: string) => {
    const dir = rig.cleanup.tempDir('vole-scripts-');
    writeFileSync(path.join(dir, 'mine.sh'), text);
    return { options: { installScripts: ['mine'], installScriptsDir: dir } };
  };

  test('run before the agent, in a step of their own', async () => {
    rig.model.answer({ say: 'A plan.' }, verdict('accept'));
    const run = rig.start(rig.remote(), { command: 'plan' }, withScript('echo installed\n'));
    const { outcome } = await run.ended;
    expect(outcome.result).toBe('passed');
    expect(names(outcome.steps).slice(0, 2)).toEqual(['install', 'start']);
  });

  test('that fail end the run, and an earlier session is kept', async () => {
    const session = { engine: 'opencode', id: 's', home: 'h' };
    const script = withScript('echo no such thing >&2; exit 3\n');
    const run = rig.start(rig.remote(), { command: 'plan', session }, script);
    const { outcome } = await run.ended;
    expect(outcome).toMatchObject({ result: 'failed', reason: 'agent-tools', agent: { session } });
    expect(outcome.detail).toContain('no such thing');
    expect(rig.model.asked).toEqual([]);
  });

  test('that are cancelled are gone', async () => {
    const script = withScript('echo waiting; sleep 300\n');
    const run = rig.start(rig.remote(), { command: 'plan' }, script);
    await run.logged('waiting');
    run.cancel();
    const { outcome, gone } = await run.ended;
    expect([outcome.result, gone, outcome.detail]).toEqual(['cancelled', true, 'by the test']);
  });
});

test('a secret of the run is in no report, no plan and no log', async () => {
  const secret = 'hunter2hunter2';
  rig.model.answer({ say: `Use ${secret}.` }, verdict('accept', `not ${secret}`));
  const run = rig.start(rig.remote(), { command: 'plan' }, { secrets: { TOKEN: secret } });
  const { outcome } = await run.ended;
  expect(outcome.agent?.plan?.text).toBe('Use ***.');
  expect(JSON.stringify(outcome)).not.toContain(secret);
  expect(readFileSync(run.paths.spool, 'utf8')).not.toContain(secret);
});
