import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connector } from '../../src/runner/session/connect.ts';
import type { SessionConnection } from '../../src/runner/session/session.ts';
import { CHANGE_ARTIFACT, type PublishRequest } from '../../src/shared/agent/result.ts';
import { AGENT_LABEL } from '../../src/shared/agent/spec.ts';
import { jobSpecSchema } from '../../src/shared/job-spec.ts';
import { ForgeE2eRig } from '../support/forge-e2e-rig.ts';
import { HELLO, leaseRequest } from '../support/ssh-rig.ts';
import { until } from '../support/until.ts';

let rig: ForgeE2eRig;
beforeEach(async () => {
  rig = await ForgeE2eRig.start(['--agent']);
  rig.git.push({ 'a.txt': 'one\n' });
  rig.forge.user(rig.project, 'alice', 'write');
  rig.project.issue(3);
  await rig.register();
});
afterEach(() => rig.close());

async function connect(): Promise<SessionConnection> {
  const { ssh, fingerprint } = rig.vole.facts;
  const endpoint = {
    host: '127.0.0.1',
    port: Number(ssh.split(':').at(-1)),
    account: 'tester',
    privateKey: readFileSync(rig.vole.keyFile),
    hostKeys: [fingerprint],
  };
  const { signal } = new AbortController();
  const connected = await connector()(endpoint, { ...HELLO, labels: [AGENT_LABEL] }, { signal });
  if (!connected.ok) throw new Error(connected.disconnect.why);
  rig.vole.cleanup.defer(() => connected.session.destroy());
  return connected.session;
}

const mirrors = () => path.join(rig.vole.dataDir, 'mirrors');
const leftOver = () =>
  existsSync(mirrors()) && readdirSync(mirrors()).some((name) => name.endsWith('.publish'));

it.each(['before', 'after'] as const)(
  'a server that is killed %s a push went through goes on with it: one commit, one pull request, nothing left over',
  async (phaseHeld) => {
    const session = await connect();
    await rig.comment(3, 'alice', '/agent implement');
    const job = await session.lease(leaseRequest(30));
    if (job.type !== 'job') throw new Error(job.type);
    const { run, attempt } = job;
    await session.heartbeat(run, attempt);
    const parent = jobSpecSchema.parse(job.spec).source?.sha ?? '';
    const commit = rig.git.work.commit({ 'b.txt': 'two\n' }, 'A change');
    const file = path.join(rig.vole.root, 'change.bundle');
    rig.git.work.git('bundle', 'create', '-q', file, `${parent}..HEAD`);
    const bytes = readFileSync(file);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await session.artifact(run, attempt, { name: CHANGE_ARTIFACT, offset: 0, bytes, last: true, sha256 });
    const request: PublishRequest = { commit, parent, title: 'Do it', body: '' };

    let held = false;
    const killed = new Promise<void>((resolve) => {
      rig.forge.intercept = async ({ method, path: asked }, phase) => {
        if (method !== 'GIT' || !asked.endsWith('/git-receive-pack') || phase !== phaseHeld) return 'go on';
        held = true;
        await rig.vole.server.destroy();
        resolve();
        return 'cut';
      };
    });
    await session.publish(run, attempt, request);
    await killed;
    expect(held).toBe(true);
    expect(leftOver()).toBe(true);
    expect(rig.git.head('agent/issue-3')).toBe(phaseHeld === 'after' ? commit : null);
    rig.forge.intercept = async () => 'go on';

    await rig.vole.startServer(['--agent']);
    const again = await connect();
    const published = await until('it to be published', async () => {
      const reply = await again.publish(run, attempt, request);
      if (reply.type !== 'ok') throw new Error(JSON.stringify(reply));
      return reply.published?.state === 'pending' ? null : reply.published;
    });
    expect(published).toMatchObject({ state: 'pushed', commit, rebased: false, pull: { number: 4 } });
    expect(rig.git.git('rev-list', '--count', 'main..agent/issue-3')).toBe('1');
    expect(rig.forge.seen('POST', /\/pulls$/)).toHaveLength(1);
    expect(leftOver()).toBe(false);
    const plain = rig.git.git('for-each-ref', '--format=%(refname)', 'refs/heads');
    expect(plain.split('\n')).toEqual(['refs/heads/agent/issue-3', 'refs/heads/main']);
  },
);
