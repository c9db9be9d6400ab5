import http from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig, signedHeaders } from '../../support/event-rig.ts';
import { commentPayload, pushPayload } from '../../support/payloads.ts';

const PLAN = commentPayload({ comment: 11, body: '/agent plan' });

let rig: EventRig;
beforeEach(async () => (rig = await EventRig.start()));
afterEach(() => rig.close());

/** Lines of the server's log that speak of refused deliveries. */
const refusals = () => rig.said.filter((line) => line.startsWith('a delivery was refused'));

async function nothingChanged(): Promise<void> {
  expect(await rig.events()).toEqual([]);
  expect(await rig.runs()).toEqual([]);
}

describe('a delivery', () => {
  it.each([
    ['not signed', { 'x-gitea-signature': undefined, 'x-hub-signature-256': undefined }, 401],
    ['with an empty signature', { 'x-gitea-signature': '', 'x-hub-signature-256': '' }, 401],
    ['signed with something shorter', { 'x-gitea-signature': 'abcd' }, 401],
    ['signed wrongly', { 'x-gitea-signature': 'a'.repeat(64) }, 401],
    ['without its event', { 'x-gitea-event': undefined }, 400],
    ['without its id', { 'x-gitea-delivery': undefined }, 400],
    ['that is a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['without a type', { 'content-type': 'text/plain' }, 415],
  ])('%s is refused with one line in the log, and changes nothing', async (_, headers, status) => {
    const reply = await rig.deliver('issue_comment', PLAN, { headers, id: 'the-delivery' });
    expect(reply.status).toBe(status);
    expect(reply.text).not.toContain('\n');
    expect(refusals()).toHaveLength(1);
    await nothingChanged();
  });

  it("signed with another repository's secret, or by its own bare secret, is refused", async () => {
    await rig.add('team/other');
    const other = rig.secrets.get('team/other') ?? '';
    expect(await rig.deliver('issue_comment', PLAN, { secret: other })).toMatchObject({ status: 401 });
    expect(await rig.deliver('issue_comment', PLAN, { secret: '' })).toMatchObject({ status: 401 });
    await nothingChanged();
  });

  it('to a repository that is not registered, has no forge, or another one, is not found', async () => {
    await rig.server.store.repositories.add({ name: 'team/bare', cloneUrl: '/x', maxJobs: null });
    await rig.add('team/hub', 'github');
    const own = rig.secrets.get('team/app') ?? '';
    for (const options of [
      { repository: 'no/such', secret: own },
      { repository: 'team/bare', secret: own },
      { repository: 'team/hub' },
      { repository: '../app', secret: own },
      { repository: '', secret: own },
      { forge: 'gitlab' as never, secret: own },
      { forge: 'github' as const },
    ]) {
      expect((await rig.deliver('issue_comment', PLAN, options)).status, JSON.stringify(options)).toBe(404);
    }
    expect(refusals().length).toBeGreaterThanOrEqual(6);
    await nothingChanged();
  });

  it('about another repository than its hook is for is refused', async () => {
    const payload = commentPayload({ comment: 11, body: '/agent plan', project: 'evil/app' });
    expect(await rig.deliver('issue_comment', payload)).toEqual({
      status: 404,
      text: "the delivery is about evil/app, and this hook is team/app's",
    });
    await nothingChanged();
    const upper = commentPayload({ comment: 11, body: '/agent plan', project: 'Team/APP' });
    expect(await rig.deliver('issue_comment', upper)).toMatchObject({ status: 202 });
  });

  it('of 24 MiB is taken, one over 25 MiB is not', async () => {
    const fill = (bytes: number) => ({ ...PLAN, padding: 'x'.repeat(bytes) });
    expect(await rig.deliver('issue_comment', fill(24 * 1024 * 1024))).toMatchObject({ status: 202 });
    const big = JSON.stringify(fill(25 * 1024 * 1024));
    const secret = rig.secrets.get('team/app') ?? '';
    const headers = signedHeaders('gitea', 'issue_comment', big, { secret, id: 'big' });
    expect(await sendSlowly(headers, big, true)).toBe(413);
    expect(await sendSlowly(headers, big, false)).toBe(413);
    expect(await rig.events()).toHaveLength(1);
  });

  it('that is no JSON, or not of the shape of its event, is refused', async () => {
    for (const body of ['', '{', 'payload=%7B%7D', '[]', '{"repository":{"full_name":"team/app"}}'])
      expect((await rig.deliver('issue_comment', body)).status, body).toBe(400);
    const { comment: _, ...without } = PLAN;
    expect((await rig.deliver('issue_comment', without)).text).toMatch(/^comment: /);
    await nothingChanged();
  });

  it('that breaks off is not taken', async () => {
    const body = JSON.stringify(PLAN);
    const secret = rig.secrets.get('team/app') ?? '';
    const headers = signedHeaders('gitea', 'issue_comment', body, { secret, id: 'half' });
    const request = http.request(`${rig.server.http.url}/hooks/gitea/team/app`, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(body.length) },
    });
    request.on('error', () => {});
    await new Promise<void>((resolve) => request.write(body.slice(0, 100), () => resolve()));
    request.destroy();
    expect(await rig.deliver('issue_comment', PLAN, { id: 'half' })).toMatchObject({ status: 202 });
    expect(await rig.events()).toHaveLength(1);
  });

  it('of an event that starts nothing is answered and not kept', async () => {
    for (const event of ['star', 'fork', 'release', 'pull_request_comment', 'create', 'ping'])
      expect(await rig.deliver(event, PLAN)).toMatchObject({ status: 200 });
    expect(await rig.deliver('ping', { zen: 'x', hook: {} })).toMatchObject({ status: 200 });
    await nothingChanged();
  });

  it.each(['gitea', 'forgejo', 'github'] as const)('of %s is understood', async (kind) => {
    const name = `team/${kind}`;
    const source = await rig.add(name, kind);
    const sha = source.commit({ '.vole.yml': 'jobs: {a: {steps: [{run: "true"}]}}\n' });
    const options = { forge: kind, repository: name };
    expect(await rig.deliver('push', pushPayload({ project: name, after: sha }), options)).toMatchObject({
      status: 202,
    });
    const comment = commentPayload({ project: name, comment: 5, body: '/agent fix it' });
    expect(await rig.deliver('issue_comment', comment, options)).toMatchObject({ status: 202 });
    await rig.settled();
    expect((await rig.runs()).map(({ job }) => job).sort()).toEqual(['a', 'fix']);
  });

  it('of a Forgejo that signs as a Gitea does, to the hook of either, is understood', async () => {
    await rig.add('team/jo', 'forgejo');
    const payload = commentPayload({ project: 'team/jo', comment: 5, body: '/agent fix' });
    expect(await rig.deliver('issue_comment', payload, { repository: 'team/jo' })).toMatchObject({
      status: 202,
    });
  });

  it('needs no token, and any name of the host', async () => {
    const body = JSON.stringify(PLAN);
    const secret = rig.secrets.get('team/app') ?? '';
    const headers = signedHeaders('gitea', 'issue_comment', body, { secret, id: 'x' });
    expect(await sendSlowly({ ...headers, host: 'ci.example.org' }, body, true)).toBe(202);
  });
});

/** The status, also where the server answers before it has read everything. */
function sendSlowly(headers: Record<string, string>, body: string, announced: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = announced ? { 'content-length': String(Buffer.byteLength(body)) } : {};
    const request = http.request(`${rig.server.http.url}/hooks/gitea/team/app`, {
      method: 'POST',
      headers: { ...headers, ...length },
      agent: false,
    });
    let status: number | null = null;
    request.on('response', (reply) => {
      status = reply.statusCode ?? 0;
      reply.resume();
      resolve(status);
      reply.on('end', () => request.destroy());
    });
    request.on('error', (error) => (status === null ? reject(error) : undefined));
    request.end(body);
  });
}
