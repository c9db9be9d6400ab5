import http from 'node:http';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { DataDir } from '../../src/server/data-dir.ts';
import { openData } from '../../src/server/open-data.ts';
import type { StoredEvent } from '../../src/server/store/event-store.ts';
import type { Run } from '../../src/server/store/store.ts';
import { signedHeaders } from '../support/event-rig.ts';
import { setForge } from '../support/forge-setup.ts';
import { GitRepository } from '../support/git-repository.ts';
import { commentPayload, pushPayload } from '../support/payloads.ts';
import { type ServerProcess, startServerProcess } from '../support/server-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

const CONNECTIONS = 8;
const ISSUES = 20;
const DELIVERIES = 1_600;
const PUSHES = 20;
/** After so many answers the server is killed, and again. */
const KILLS = [150, 600, 900, 1_350];

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

interface Sent {
  readonly id: string;
  readonly event: string;
  readonly body: string;
}

let server: ServerProcess;
let secret: string;
/** Resolves when the server that is being started again is there. */
let restarting: Promise<void> | null = null;
let answered = 0;
let kills = 0;

async function killAndStart(dataDir: string): Promise<void> {
  server.kill('SIGKILL');
  await server.exited;
  server = await startServerProcess({ dataDir });
  kills += 1;
}

/** Null where the connection broke: whether it was received is not known. */
async function send(agent: http.Agent, sent: Sent): Promise<number | null> {
  const headers = signedHeaders('gitea', sent.event, sent.body, { secret, id: sent.id });
  return new Promise((resolve) => {
    const request = http.request(`${server.httpUrl}/hooks/gitea/team/app`, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(sent.body)) },
    });
    request.on('error', () => resolve(null));
    request.on('response', (reply) => {
      reply.resume();
      reply.on('end', () => resolve(reply.statusCode ?? null));
      reply.on('error', () => resolve(null));
    });
    request.end(sent.body);
  });
}

/** As a person does who has the forge send again what failed: by its id, or by a new one. */
async function deliver(agent: http.Agent, sent: Sent, dataDir: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    await restarting;
    const again = tries > 0 && tries % 2 === 0 ? { ...sent, id: `${sent.id}-again-${tries}` } : sent;
    const status = await send(agent, again);
    if (status === 200 || status === 202) break;
    if (status !== null) throw new Error(`answered ${status}`);
    if (tries > 100) throw new Error('no answer');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  answered += 1;
  if (answered === KILLS[0] && restarting === null) {
    KILLS.shift();
    restarting = killAndStart(dataDir).finally(() => (restarting = null));
  }
}

function lanes(sha: string): Sent[][] {
  const made: Sent[][] = Array.from({ length: CONNECTIONS }, () => []);
  for (let at = 0; at < DELIVERIES; at += 1) {
    const issue = 1 + (at % ISSUES);
    const push = at % (DELIVERIES / PUSHES) === 0;
    const payload = push
      ? pushPayload({ after: sha, at: String(at) })
      : commentPayload({ issue, comment: at + 1, body: `/agent fix ${at}` });
    const event = push ? 'push' : 'issue_comment';
    made[issue % CONNECTIONS]?.push({ id: `d${at}`, event, body: JSON.stringify(payload) });
  }
  return made;
}

it('a burst over eight connections, with the server killed in its middle, is received whole and once, in order', async () => {
  const root = cleanup.tempDir('vole-burst-');
  const dataDir = path.join(root, 'data');
  const source = new GitRepository(path.join(root, 'git'));
  const sha = source.commit({ '.vole.yml': 'jobs: {a: {steps: [{run: "true"}]}}\n' });
  const before = await openData(new DataDir(dataDir));
  await before.store.repositories.add({ name: 'team/app', cloneUrl: source.dir, maxJobs: null });
  await before.close();
  secret = await setForge(dataDir, 'team/app');
  server = await startServerProcess({ dataDir });
  cleanup.defer(() => server.remove());

  await Promise.all(
    lanes(sha).map(async (lane) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      for (const sent of lane) await deliver(agent, sent, dataDir);
      agent.destroy();
    }),
  );
  await restarting;
  expect(kills).toBe(4);
  // the last one dies with work left: the one after does it
  await killAndStart(dataDir);
  await until(
    'every event is worked on',
    async () => {
      const reply = await fetch(`${server.httpUrl}/api/events?pending=1&limit=1`);
      return ((await reply.json()) as { events: unknown[] }).events.length === 0;
    },
    120_000,
  );
  await server.stop();

  const after = await openData(new DataDir(dataDir));
  cleanup.defer(() => after.close());
  const { store } = after;
  const events = (await store.events.list({ limit: 2 * DELIVERIES })).toReversed();
  const runs = (await store.runs.list({ limit: 2 * DELIVERIES })).toReversed();
  expect(events.map(({ id }) => id)).toEqual(Array.from({ length: DELIVERIES }, (_, at) => at + 1));
  expect(runs).toHaveLength(DELIVERIES);
  expect(runs.filter(({ kind }) => kind === 'job')).toHaveLength(PUSHES);
  inOrder(events, runs);
});

/** Of each issue: the comments in the order sent, and their commands' runs in the same. */
function inOrder(events: readonly StoredEvent[], runs: readonly Run[]): void {
  const runOf = new Map(runs.map(({ pipeline, id }) => [pipeline, id]));
  for (let issue = 1; issue <= ISSUES; issue += 1) {
    const own = events.filter(({ event }) => event.kind === 'command' && event.issue === issue);
    const messages = own.map(({ event }) => (event.kind === 'command' ? Number(event.message) : 0));
    expect(messages).toEqual(messages.toSorted((a, b) => a - b));
    expect(new Set(messages).size).toBe(messages.length);
    const ids = own.map(({ pipeline }) => runOf.get(pipeline ?? 0) ?? 0);
    expect(ids).not.toContain(0);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  }
}
