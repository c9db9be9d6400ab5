import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DataDir } from '../../src/server/data-dir.ts';
import { ForgeSettings } from '../../src/server/forges/settings.ts';
import { openData } from '../../src/server/open-data.ts';
import type { ApiRun } from '../../src/shared/api.ts';
import type { ApiTask } from '../../src/shared/api-forge.ts';
import { deliver } from '../support/forge/deliver.ts';
import { BOT, BOT_TOKEN, FakeForge } from '../support/forge/forge.ts';
import type { Project, SeenRequest } from '../support/forge/state.ts';
import { commentPayload, pushPayload } from '../support/payloads.ts';
import { cleanEnv } from '../support/server-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

const child = path.resolve(import.meta.dirname, '../../dist/test/killed-server.js');
const WORKFLOW =
  'on: push\njobs: {test: {steps: [{run: "true"}]}}\ncommands: {plan: {steps: [{run: "true"}]}}\n';
/** Some thirty lives, of a few seconds each on a busy machine. */
const LONGEST_MS = 900_000;
const END = 'test passed, plan passed; vole/test success; **passed**';

const cleanup = new Cleanup();
let forge: FakeForge;
let project: Project;
/** Every commit by hand, VOLE_TORTURE_SECONDS=60; else each fourth, from another one each time. */
const STEP = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 0) >= 60 ? 1 : 4;

let sha: string;
let secret: string;
/** A data directory with the repository registered, which each life begins with a copy of. */
let template: string;
let data: string;
let server: Server | null = null;

interface Server {
  readonly child: ChildProcess;
  readonly http: string;
  readonly exited: Promise<unknown>;
}

beforeAll(async () => {
  const root = cleanup.tempDir('vole-kills-');
  forge = await FakeForge.start(cleanup);
  project = forge.project('team/app');
  sha = forge.git(project).push({ '.vole.yml': WORKFLOW });
  template = path.join(root, 'template');
  const tokenFile = path.join(root, 'token');
  writeFileSync(tokenFile, BOT_TOKEN);
  const open = await openData(new DataDir(template));
  await open.store.repositories.add({ name: 'team/app', cloneUrl: forge.cloneUrl(project), maxJobs: null });
  const { apiUrl } = forge;
  const bot = { project: 'team/app', apiUrl, tokenFile, botLogin: BOT };
  secret = await new ForgeSettings(open.store.forges, open.secrets).set({
    repository: 'team/app',
    kind: 'gitea',
    ...bot,
  });
  await open.close();
});

afterAll(() => cleanup.run());

let lives = 0;
afterEach(async () => {
  forge.intercept = async () => 'go on';
  server?.child.kill('SIGKILL');
  await server?.exited;
});

/** Everything as before any event. */
function fresh(): void {
  lives += 1;
  data = path.join(path.dirname(template), `life-${lives}`);
  cpSync(template, data, { recursive: true });
  project.comments.clear();
  project.statuses.length = 0;
  project.issue(3);
  forge.user(project, 'alice', 'write');
}

async function start(when = 'never', at = 0): Promise<Server> {
  const started = spawn(process.execPath, [child, data, when, String(at)], {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(started, 'close');
  const [line] = (await Promise.race([once(started.stdout, 'data'), exited])) as [Buffer | null];
  server = { child: started, http: String(line).trim(), exited };
  return server;
}

/** The deliveries that were not acknowledged yet: a forge's page sends those again. */
class Deliveries {
  readonly #left = new Map<string, { event: string; payload: unknown; id: string }>();

  constructor() {
    const { id } = forge.comment(project, 3, 'alice', '/agent plan');
    this.#add('push', pushPayload({ after: sha }));
    this.#add('issue_comment', commentPayload({ issue: 3, comment: id, body: '/agent plan' }));
  }

  #add(event: string, payload: unknown): void {
    this.#left.set(event, { event, payload, id: randomUUID() });
  }

  async send(to: Server): Promise<void> {
    for (const [name, delivery] of this.#left) {
      const status = await deliver(`${to.http}/hooks/gitea/team/app`, { ...delivery, secret }).catch(() => 0);
      if (status >= 200 && status < 300) this.#left.delete(name);
    }
  }
}

async function api<T>(to: Server, route: string): Promise<T | null> {
  const reply = await fetch(`${to.http}${route}`).catch(() => null);
  return reply === null ? null : ((await reply.json()) as T);
}

async function ended(on: Server): Promise<boolean> {
  const runs = (await api<{ runs: ApiRun[] }>(on, '/api/runs'))?.runs;
  const tasks = (await api<{ tasks: ApiTask[] }>(on, '/api/tasks'))?.tasks;
  return runs?.length === 2 && runs.every(({ state }) => state === 'passed') && tasks?.length === 0;
}

/** What is there in the end, as people see it, with all that shows twice. */
async function seen(on: Server): Promise<string> {
  const { runs } = (await api<{ runs: ApiRun[] }>(on, '/api/runs')) ?? { runs: [] };
  const states = runs.map(({ job, state }) => `${job} ${state}`).sort((a, b) => b.localeCompare(a));
  const ends = project.statuses.filter(({ state }) => state !== 'pending');
  const comments = project.commentsOf(3).filter(({ author }) => author === BOT);
  const words = comments.map(({ body }) => /\*\*.*\*\*/.exec(body)?.[0]);
  return [
    states.join(', '),
    ends.map(({ context, state }) => `${context} ${state}`).join(),
    words.join(),
  ].join('; ');
}

/** One life until it is killed or all is done, and another until all is done. False where nothing killed it. */
async function twoLives(when: string, at: number): Promise<boolean> {
  fresh();
  const deliveries = new Deliveries();
  const first = await start(when, at);
  const over = first.exited.then(() => 'killed' as const);
  await Promise.race([deliveries.send(first), over]);
  const done = until(
    'the end or a kill',
    async () => first.child.signalCode !== null || (await ended(first)),
  );
  await Promise.race([done, over]);
  const killed = first.child.signalCode === 'SIGKILL';
  forge.intercept = async () => 'go on';
  first.child.kill('SIGKILL');
  await first.exited;
  const second = await start();
  await deliveries.send(second);
  await until(`the end after a kill ${when} ${at}`, () => ended(second), 60_000);
  expect(await seen(second), `${when} ${at}`).toBe(END);
  second.child.kill('SIGKILL');
  await second.exited;
  return killed;
}

describe('a server that is killed between webhook and status', () => {
  it.each(['before', 'after'])(
    '%s any of its commits has the same end after a restart',
    async (when) => {
      let at = 1 + Math.floor(Math.random() * STEP);
      while (await twoLives(when, at)) at += STEP;
      // Event, pipeline, lease, record, and each task claimed and finished.
      expect(at).toBeGreaterThan(15);
    },
    LONGEST_MS,
  );

  it.each(['before', 'after'] as const)(
    '%s any request to the forge has its effect, too',
    async (phase) => {
      let killed = true;
      let at = 0;
      while (killed) {
        at += 1;
        let requests = 0;
        const intercept = async (_: SeenRequest, now: 'before' | 'after') => {
          if (now !== phase || ++requests !== at) return 'go on';
          server?.child.kill('SIGKILL');
          await server?.exited;
          return 'cut';
        };
        forge.intercept = intercept;
        killed = await twoLives('never', 0);
        expect(requests).toBeGreaterThanOrEqual(killed ? at : 1);
      }
      expect(at).toBeGreaterThan(4);
    },
    LONGEST_MS,
  );
});
