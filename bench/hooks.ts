// A burst of 10,000 deliveries over 8 connections to a server process, with its control work on a stand-in
// of a forge beside: the time until each 2xx, and whether none was lost and each issue's order kept.
// `node bench/run.mjs hooks [--json]` runs it, on the program as `npm run build` made it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { DataDir } from '../src/server/data-dir.ts';
import { ForgeSettings } from '../src/server/forges/settings.ts';
import { openData } from '../src/server/open-data.ts';
import { signedHeaders } from '../test/support/event-rig.ts';
import { BOT, BOT_TOKEN, FakeForge } from '../test/support/forge/forge.ts';
import { GitRepository } from '../test/support/git-repository.ts';
import { commentPayload, pushPayload } from '../test/support/payloads.ts';
import { type ServerProcess, startServerProcess } from '../test/support/server-rig.ts';
import { Cleanup } from '../test/support/temp.ts';
import { until } from '../test/support/until.ts';

const DELIVERIES = 10_000;
const CONNECTIONS = 8;
const REPOSITORIES = 4;
/** Of each repository. */
const ISSUES = 64;
/** Every so manieth delivery is a push. */
const PUSH_EVERY = 50;
const TARGET_MS = 250;
const WORKFLOW = 'jobs: {a: {steps: [{run: "true"}]}}\ncommands: {fix: {steps: [{run: "true"}]}}\n';

interface Sent {
  readonly repository: string;
  readonly event: string;
  readonly body: string;
  readonly headers: Record<string, string>;
}

const cleanup = new Cleanup();
const root = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-hooks-'));
cleanup.defer(() => rmSync(root, { recursive: true, force: true }));

interface Registered {
  readonly name: string;
  readonly secret: string;
  readonly sha: string;
}

async function register(forge: FakeForge, dataDir: string): Promise<Registered[]> {
  const tokenFile = path.join(root, 'token');
  writeFileSync(tokenFile, BOT_TOKEN);
  const data = await openData(new DataDir(dataDir));
  const settings = new ForgeSettings(data.store.forges, data.secrets);
  const made: Registered[] = [];
  for (let at = 0; at < REPOSITORIES; at += 1) {
    const name = `team/app${at}`;
    const source = new GitRepository(path.join(root, 'git', name));
    const sha = source.commit({ '.vole.yml': WORKFLOW });
    const project = forge.project(name);
    forge.user(project, 'alice', 'write');
    for (let issue = 1; issue <= ISSUES; issue += 1) project.issue(issue);
    await data.store.repositories.add({ name, cloneUrl: source.dir, maxJobs: null });
    const secret = await settings.set({
      repository: name,
      kind: 'gitea',
      project: name,
      apiUrl: forge.apiUrl,
      tokenFile,
      botLogin: BOT,
    });
    made.push({ name, secret, sha });
  }
  await data.close();
  return made;
}

/** What each connection sends, one after the other: all of one issue on the same. */
function deliveries(repositories: readonly Registered[]): Sent[][] {
  const lanes: Sent[][] = Array.from({ length: CONNECTIONS }, () => []);
  for (let at = 0; at < DELIVERIES; at += 1) {
    const { name, secret, sha } = repositories[at % REPOSITORIES] as Registered;
    const issue = 1 + (Math.floor(at / REPOSITORIES) % ISSUES);
    const push = at % PUSH_EVERY === 0;
    const event = push ? 'push' : 'issue_comment';
    const payload = push
      ? pushPayload({ project: name, after: sha, at: String(at) })
      : commentPayload({ project: name, issue, comment: at + 1, body: `/agent fix ${at}`, author: 'alice' });
    const body = JSON.stringify(payload);
    const headers = signedHeaders('gitea', event, body, { secret, id: `delivery-${at}` });
    lanes[issue % CONNECTIONS]?.push({ repository: name, event, body, headers });
  }
  return lanes;
}

/** Milliseconds until the 2xx. */
async function send(server: ServerProcess, agent: http.Agent, sent: Sent): Promise<number> {
  const began = performance.now();
  const status = await new Promise<number>((resolve, reject) => {
    const request = http.request(`${server.httpUrl}/hooks/gitea/${sent.repository}`, {
      method: 'POST',
      agent,
      headers: { ...sent.headers, 'content-length': String(Buffer.byteLength(sent.body)) },
    });
    request.on('error', reject);
    request.on('response', (reply) => {
      reply.resume();
      reply.on('end', () => resolve(reply.statusCode ?? 0));
    });
    request.end(sent.body);
  });
  if (status !== 202) throw new Error(`a delivery was answered ${status}`);
  return performance.now() - began;
}

async function burst(server: ServerProcess, lanes: readonly Sent[][]): Promise<number[]> {
  const times: number[] = [];
  await Promise.all(
    lanes.map(async (lane) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      for (const sent of lane) times.push(await send(server, agent, sent));
      agent.destroy();
    }),
  );
  return times;
}

/** Runs of commands that are not there, and those that are not in the order of their comments. */
async function judge(dataDir: string): Promise<{ events: number; commands: number; outOfOrder: number }> {
  const data = await openData(new DataDir(dataDir));
  try {
    const events = (await data.store.events.list({ limit: 2 * DELIVERIES })).toReversed();
    const last = new Map<string, number>();
    let outOfOrder = 0;
    let commands = 0;
    for (const { event, pipeline, repository } of events) {
      if (event.kind !== 'command') continue;
      if (pipeline !== null) commands += 1;
      const target = `${repository}#${event.issue}`;
      const before = last.get(target) ?? 0;
      const [run = 0] = pipeline === null ? [] : ((await data.store.runs.pipeline(pipeline))?.runs ?? []);
      const key = Number(event.message) * 1e9 + run;
      if (key <= before || run <= before % 1e9) outOfOrder += 1;
      last.set(target, key);
    }
    return { events: events.length, commands, outOfOrder };
  } finally {
    await data.close();
  }
}

/** Seconds that the server's event loop had a core, and that it was ready and waited for one. */
function coreSeconds(pid: number): { had: number; waited: number } {
  const [had = '0', waited = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return { had: Number(had) / 1e9, waited: Number(waited) / 1e9 };
}

function quantile(sorted: readonly number[], share: number): number {
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1));
}

try {
  const dataDir = path.join(root, 'data');
  const forge = await FakeForge.start(cleanup);
  const repositories = await register(forge, dataDir);
  const lanes = deliveries(repositories);
  const server = await startServerProcess({ dataDir });
  cleanup.defer(() => server.remove());
  const [loadBefore = 0] = os.loadavg();
  const before = coreSeconds(server.pid);
  const began = performance.now();
  const times = (await burst(server, lanes)).sort((a, b) => a - b);
  const seconds = (performance.now() - began) / 1_000;
  const after = coreSeconds(server.pid);
  await until(
    'every event is worked on',
    async () => {
      const reply = await fetch(`${server.httpUrl}/api/events?pending=1&limit=1`);
      return ((await reply.json()) as { events: unknown[] }).events.length === 0;
    },
    600_000,
  );
  const settledSeconds = (performance.now() - began) / 1_000;
  await server.stop();
  const kept = await judge(dataDir);
  const pushes = lanes.flat().filter(({ event }) => event === 'push').length;
  const result = {
    deliveries: DELIVERIES,
    connections: CONNECTIONS,
    pushes,
    aSecond: Math.round(DELIVERIES / seconds),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    maxMs: quantile(times, 1),
    targetMs: TARGET_MS,
    allWorkedOnAfterSeconds: Number(settledSeconds.toFixed(1)),
    lost: DELIVERIES - kept.events + (DELIVERIES - pushes - kept.commands),
    outOfOrder: kept.outOfOrder,
    cores: os.availableParallelism(),
    loadAverageBefore: Number(loadBefore.toFixed(1)),
    burstSeconds: Number(seconds.toFixed(1)),
    serverHadACoreSeconds: Number((after.had - before.had).toFixed(1)),
    serverWaitedForACoreSeconds: Number((after.waited - before.waited).toFixed(1)),
  };
  const good = result.p99Ms < TARGET_MS && result.lost === 0 && result.outOfOrder === 0;
  const width = Math.max(...Object.keys(result).map((name) => name.length));
  const table = Object.entries(result).map(([name, value]) => `${name.padEnd(width)}  ${value}\n`);
  process.stdout.write(
    process.argv.includes('--json') ? `${JSON.stringify(result, null, 2)}\n` : table.join(''),
  );
  process.exitCode = good ? 0 : 1;
} finally {
  await cleanup.run();
}
