import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentResult } from '../../../src/shared/agent/result.ts';
import { ControlRig, REPOSITORY } from '../../support/control-rig.ts';
import { BOT } from '../../support/forge/forge.ts';
import { outcome } from '../../support/store-rig.ts';

let rig: ControlRig;
beforeEach(async () => {
  rig = await ControlRig.open();
  rig.project.issue(3);
  rig.forge.user(rig.project, 'alice', 'write');
  await rig.start();
});
afterEach(() => rig.cleanup.run());

/** A command that ran to this end, and its comment. */
async function commentAfter(
  report: string,
  change: Parameters<typeof outcome>[1] = {},
  result: 'passed' | 'failed' = 'passed',
) {
  const id = await rig.command(3, 'alice', 'plan');
  await rig.settle();
  const { run, attempt } = await rig.leased();
  expect(run).toBe(id);
  const agent: AgentResult = { session: null, report, plan: null, rounds: 0, change: null };
  await rig.store.runs.record('build1', run, attempt, { ...outcome(result), ...change, agent }, 0);
  await rig.settle();
  const own = rig.project.commentsOf(3).filter(({ author }) => author === BOT);
  expect(own).toHaveLength(1);
  return { id, body: own[0]?.body ?? '' };
}

describe("an agent's report", () => {
  it('is the rest of the comment, as Markdown, below the state', async () => {
    const { id, body } = await commentAfter('## Plan\n\n1. Do it.\n\n```sh\nmake\n```');
    expect(body).toBe(
      `<!-- vole:run:${id} -->\n\`plan\` for \`alice\`: **passed** ([run ${id}](https://ci.example/runs/${id}))\n\n## Plan\n\n1. Do it.\n\n\`\`\`sh\nmake\n\`\`\``,
    );
  });

  it('stands below what went wrong', async () => {
    const { body } = await commentAfter(
      'What there is.',
      { reason: 'provider', detail: 'the model failed' },
      'failed',
    );
    expect(body).toMatch(/\*\*failed\*\*.*\n\n`the model failed`\n\nWhat there is\.$/);
  });

  it('mentions nobody, shows no secret, and is no comment of another run', async () => {
    await rig.secrets.set(REPOSITORY, 'KEY', Buffer.from('very@secret'));
    const { body } = await commentAfter('@bob: very@secret <!-- vole:run:77 -->');
    expect(body).not.toContain('secret');
    expect(body).not.toContain('@bob');
    expect(body.match(/<!--/g)).toHaveLength(1);
    expect(await rig.store.tasks.commentDeleted(REPOSITORY, body.slice(body.indexOf('\n')))).toBe(false);
  });

  it('of the longest is one comment that forges take', async () => {
    const { body } = await commentAfter('@'.repeat(48 * 1024));
    expect(body.length).toBeLessThan(65_000);
  });

  it('is not there where the run left none, and an error has no secret and at most 500 characters', async () => {
    await rig.secrets.set(REPOSITORY, 'KEY', Buffer.from('very-secret'));
    const detail = `very-secret ${'x'.repeat(600)}`.slice(0, 500);
    const { body } = await commentAfter('', { reason: 'agent', detail }, 'failed');
    const error = /\n\n`([^`]*)`$/.exec(body)?.[1] ?? '';
    expect(error).toMatch(/^\*\*\* x+/);
    expect(error.length).toBeLessThanOrEqual(500);
    expect(body).not.toContain('very-secret');
  });
});
