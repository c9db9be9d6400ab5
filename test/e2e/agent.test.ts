import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { AgentE2eRig } from '../support/agent-e2e-rig.ts';
import { bash, verdict } from '../support/agent-flow-rig.ts';
import { BOT_TOKEN } from '../support/forge/forge.ts';
import type { ModelServer } from '../support/model-server.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let rig: AgentE2eRig;
let model: ModelServer;
beforeAll(async () => {
  rig = await AgentE2eRig.start();
  ({ model } = rig);
  rig.runner();
});
afterAll(() => rig.close());
beforeEach(() => model.forget());

describe('commands of an agent', () => {
  it('plan, implement and fix, from comments to the one pull request', async () => {
    model.answer(
      { say: 'First.' },
      verdict('revise', 'Name it.'),
      { say: 'Change a.txt.' },
      verdict('accept'),
    );
    const planned = await rig.command(3, '/agent plan');
    expect(planned).toMatch(/\*\*passed\*\*[\s\S]*accepted after 2 rounds[\s\S]*Change a\.txt\./);

    model.answer(
      bash('echo two > a.txt; git -c user.name=x -c user.email=x@x commit -qam mine; env'),
      { say: 'Changed.' },
      verdict('revise', 'Test it.'),
      bash('echo test > test.txt'),
      { say: 'Tested.' },
      verdict('accept'),
    );
    const built = await rig.command(3, '/agent implement');
    expect(built).toMatch(/\*\*passed\*\*[\s\S]*pull request \[#\d+\]/);
    const shown = JSON.stringify(model.asked.map(({ messages }) => messages));
    const branch = 'agent/issue-3';
    expect(rig.forge.git.git('rev-list', '--count', `main..${branch}`)).toBe('1');
    expect(rig.forge.git.git('ls-tree', '--name-only', branch).split('\n')).toEqual(['a.txt', 'test.txt']);
    const pulls = [...rig.forge.project.issues.values()].filter(({ pull }) => pull?.ref === branch);
    expect(pulls).toHaveLength(1);
    const number = pulls[0]?.number ?? 0;

    model.answer(bash('echo fixed > a.txt'), { say: 'Fixed.' });
    rig.forge.git.pull(number, branch);
    const fixed = await rig.command(number, '/agent fix the text', true);
    expect(fixed).toMatch(/\*\*passed\*\*[\s\S]*Fixed\./);
    expect(rig.forge.git.git('rev-list', '--count', `main..${branch}`)).toBe('2');
    expect(rig.forge.git.git('show', `${branch}:a.txt`)).toBe('fixed');

    // A later round goes on in its session and on its branch, and opens no second one.
    model.forget();
    model.answer(bash('echo more > more.txt'), { say: 'More.' }, verdict('accept'));
    const more = await rig.command(3, '/agent implement more of it');
    expect(more).toMatch(new RegExp(`\\*\\*passed\\*\\*[\\s\\S]*\\[#${number}\\]`));
    expect(JSON.stringify(model.asked[0]?.messages)).toMatch(/Tested\..*more of it/);
    expect(rig.forge.git.git('rev-list', '--count', `main..${branch}`)).toBe('3');
    expect([...rig.forge.project.issues.values()].filter(({ pull }) => pull?.ref === branch)).toHaveLength(1);
    // The first command's output was its environment, which the model was shown.
    expect(shown).toContain('VOLE_JOB_MARKER');
    expect(shown).not.toContain(BOT_TOKEN);
    expect(shown).not.toContain('key-of-the-service');
    expect(rig.own(3).join('\n')).not.toContain(BOT_TOKEN);
  });

  it('an implementation without a plan says how to get one', async () => {
    const text = await rig.command(4, '/agent implement');
    expect(text).toMatch(/\*\*failed\*\*[\s\S]*'plan' first/);
  });

  it('abort ends one within 10 s, and its comment says so', async () => {
    model.answer({ hang: 'after-headers' });
    await rig.forge.comment(5, 'alice', '/agent plan');
    await model.called(1);
    const start = performance.now();
    await rig.forge.comment(5, 'alice', '/agent abort');
    await rig.forge.forge.state.until('the abort', () => rig.own(5)[0]?.includes('**cancelled**'), 60_000);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
