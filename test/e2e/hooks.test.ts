import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiRun } from '../../src/shared/api.ts';
import { Rig } from '../support/e2e-rig.ts';
import { signedHeaders } from '../support/event-rig.ts';
import { BOT_TOKEN, FakeForge } from '../support/forge/forge.ts';
import { setForge } from '../support/forge-setup.ts';
import { commentPayload, pushPayload } from '../support/payloads.ts';
import { until } from '../support/until.ts';

const WORKFLOW = `jobs:
  test: {steps: [{run: 'cat file; echo "$VOLE_EVENT $VOLE_REF $VOLE_TRUST"'}]}
commands:
  plan:
    checkout: false
    steps: [{run: 'printf "%s by %s for %s: %s" "$VOLE_COMMAND" "$VOLE_COMMAND_AUTHOR" "$VOLE_ISSUE" "$VOLE_COMMAND_MESSAGE"'}]
  fix: {checkout: false, steps: [{run: 'echo begun; sleep 300'}]}
`;

let rig: Rig;
let sha: string;
let secret: string;

beforeEach(async () => {
  rig = await Rig.start();
  const folder = await rig.repository('team/app', {}, { files: { file: 'content' } });
  writeFileSync(path.join(folder, '.vole.yml'), WORKFLOW);
  execFileSync('git', ['-C', folder, 'commit', '-q', '-a', '-m', 'workflow']);
  sha = execFileSync('git', ['-C', folder, 'rev-parse', 'HEAD']).toString().trim();
  rig.server.kill('SIGTERM');
  await rig.server.ended;
  const forge = await FakeForge.start(rig.cleanup);
  const project = forge.project('team/app');
  forge.user(project, 'alice', 'write');
  project.issue(3);
  const tokenFile = path.join(rig.root, 'token');
  writeFileSync(tokenFile, BOT_TOKEN);
  secret = await setForge(rig.dataDir, 'team/app', 'gitea', { apiUrl: forge.apiUrl, tokenFile });
  await rig.startServer();
  rig.runner(['--jobs', '1']);
});
afterEach(() => rig.close());

async function deliver(event: string, payload: unknown): Promise<void> {
  const body = JSON.stringify(payload);
  const reply = await fetch(`${rig.facts.http}/hooks/gitea/team/app`, {
    method: 'POST',
    headers: signedHeaders('gitea', event, body, { secret, id: randomUUID() }),
    body,
  });
  expect(reply.status).toBe(202);
}

/** The latest, once there are so many. */
async function latest(count: number): Promise<ApiRun> {
  return until<ApiRun | undefined | null>(`${count} runs`, async () => {
    const runs = await rig.runs();
    return runs.length === count ? runs[0] : null;
  });
}

describe('a delivery of a forge', () => {
  it('of a push is executed by a runner, from the registered clone URL', async () => {
    await deliver('push', pushPayload({ after: sha }));
    const { id } = await latest(1);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', sha });
    expect(await rig.output(id)).toBe('contentpush refs/heads/main trusted');
  });

  it('of a comment is executed too, and is told what was said byte for byte', async () => {
    const message = `don't "$(touch x)" \\ \`y\`\n\tünïcode $\{{ matrix.x }}`;
    await deliver('issue_comment', commentPayload({ comment: 1, body: `/agent plan ${message}` }));
    const { id } = await latest(1);
    expect(await rig.ended(id)).toMatchObject({ state: 'passed', kind: 'command' });
    expect(await rig.output(id)).toBe(`plan by alice for 3: ${message}`);
  });

  it('of a comment that aborts ends the command that runs', async () => {
    await deliver('issue_comment', commentPayload({ comment: 1, body: '/agent fix' }));
    const { id } = await latest(1);
    await rig.logHas(id, 'begun');
    await deliver('issue_comment', commentPayload({ comment: 2, body: '/agent abort' }));
    expect(await rig.ended(id)).toMatchObject({ state: 'cancelled' });
    expect((await rig.run(id)).cancelWhy).toMatch(/^aborted by alice/);
  });
});
