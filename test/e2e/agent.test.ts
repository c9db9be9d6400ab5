import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bash, verdict } from '../support/agent-flow-rig.ts';
import { BOT_TOKEN } from '../support/forge/forge.ts';
import { ForgeE2eRig } from '../support/forge-e2e-rig.ts';
import { ModelServer } from '../support/model-server.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let rig: ForgeE2eRig;
let model: ModelServer;
beforeAll(async () => {
  model = await ModelServer.start();
  rig = await ForgeE2eRig.start(['--agent', '--max-concurrent-commands', '2']);
  rig.vole.cleanup.defer(() => model.close());
  await rig.register();
  rig.git.push({ 'a.txt': 'one\n' });
  for (const issue of [3, 4, 5]) rig.project.issue(issue);
  rig.forge.user(rig.project, 'alice', 'write');
  const keyFile = path.join(rig.vole.root, 'model-key');
  writeFileSync(keyFile, 'key-of-the-service');
  const models = ['--agent-plan-model', 'planner', '--agent-build-model', 'builder'];
  rig.vole.runner(['--jobs', '3', '--agent-url', model.url, '--agent-key-file', keyFile, ...models]);
});
afterAll(() => rig.close());
beforeEach(() => model.forget());

/** vole's comments of an issue, oldest first. */
const own = (issue: number): string[] =>
  rig.project
    .commentsOf(issue)
    .filter(({ author }) => author === 'vole-bot')
    .map(({ body }) => body);

/** Gives a command, and the text of its comment once it has ended. */
async function command(issue: number, text: string, pull = false): Promise<string> {
  const at = own(issue).length;
  await rig.comment(issue, 'alice', text, pull);
  return await rig.forge.state.until(
    `the end of ${text}`,
    () => own(issue)[at]?.match(/\*\*(passed|failed|timed-out|cancelled|refused|lost)\*\*/)?.input ?? null,
    120_000,
  );
}

describe('commands of an agent', () => {
  it('plan, implement and fix, from comments to the one pull request', async () => {
    model.answer(
      { say: 'First.' },
      verdict('revise', 'Name it.'),
      { say: 'Change a.txt.' },
      verdict('accept'),
    );
    const planned = await command(3, '/agent plan');
    expect(planned).toMatch(/\*\*passed\*\*[\s\S]*accepted after 2 rounds[\s\S]*Change a\.txt\./);

    model.answer(
      bash('echo two > a.txt; git -c user.name=x -c user.email=x@x commit -qam mine; env > ../env.txt'),
      { say: 'Changed.' },
      verdict('revise', 'Test it.'),
      bash('echo test > test.txt'),
      { say: 'Tested.' },
      verdict('accept'),
    );
    const built = await command(3, '/agent implement');
    expect(built).toMatch(/\*\*passed\*\*[\s\S]*pull request \[#\d+\]/);
    const branch = 'agent/issue-3';
    expect(rig.git.git('rev-list', '--count', `main..${branch}`)).toBe('1');
    expect(rig.git.git('ls-tree', '--name-only', branch).split('\n')).toEqual(['a.txt', 'test.txt']);
    const pulls = [...rig.project.issues.values()].filter(({ pull }) => pull?.ref === branch);
    expect(pulls).toHaveLength(1);
    const number = pulls[0]?.number ?? 0;

    model.answer(bash('echo fixed > a.txt'), { say: 'Fixed.' });
    rig.git.pull(number, branch);
    const fixed = await command(number, '/agent fix the text', true);
    expect(fixed).toMatch(/\*\*passed\*\*[\s\S]*Fixed\./);
    expect(rig.git.git('rev-list', '--count', `main..${branch}`)).toBe('2');
    expect(rig.git.git('show', `${branch}:a.txt`)).toBe('fixed');

    // A later round goes on in its session and on its branch, and opens no second one.
    model.forget();
    model.answer(bash('echo more > more.txt'), { say: 'More.' }, verdict('accept'));
    const more = await command(3, '/agent implement more of it');
    expect(more).toMatch(new RegExp(`\\*\\*passed\\*\\*[\\s\\S]*\\[#${number}\\]`));
    expect(JSON.stringify(model.asked[0]?.messages)).toMatch(/Tested\..*more of it/);
    expect(rig.git.git('rev-list', '--count', `main..${branch}`)).toBe('3');
    expect([...rig.project.issues.values()].filter(({ pull }) => pull?.ref === branch)).toHaveLength(1);
    expect(own(3).join('\n')).not.toContain(BOT_TOKEN);
  });

  it('an implementation without a plan says how to get one', async () => {
    const text = await command(4, '/agent implement');
    expect(text).toMatch(/\*\*failed\*\*[\s\S]*'plan' first/);
  });

  it('abort ends one within 10 s, and its comment says so', async () => {
    model.answer({ hang: 'after-headers' });
    await rig.comment(5, 'alice', '/agent plan');
    await model.called(1);
    const start = performance.now();
    await rig.comment(5, 'alice', '/agent abort');
    await rig.forge.state.until('the abort', () => own(5)[0]?.includes('**cancelled**'), 60_000);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
