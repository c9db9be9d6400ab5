import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataDir } from '../../src/server/data-dir.ts';
import { ForgeSettings } from '../../src/server/forges/settings.ts';
import { openData } from '../../src/server/open-data.ts';
import type { ApiTask } from '../../src/shared/api-forge.ts';
import { deliver } from '../support/forge/deliver.ts';
import type { Fault } from '../support/forge/faults.ts';
import { BOT, BOT_TOKEN, FakeForge } from '../support/forge/forge.ts';
import type { Project } from '../support/forge/state.ts';
import { commentPayload, pushPayload } from '../support/payloads.ts';
import { cleanEnv } from '../support/server-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';

const child = path.resolve(import.meta.dirname, '../../dist/test/killed-server.js');
const WORKFLOW =
  'on: push\njobs: {test: {steps: [{run: "true"}]}}\ncommands: {plan: {steps: [{run: "true"}]}}\n';
/** A minute by hand: VOLE_TORTURE_SECONDS=60. */
const OUTAGE_MS = Number(process.env['VOLE_TORTURE_SECONDS'] ?? 10) * 1_000;

const OUTAGES: Readonly<Record<string, Omit<Fault, 'on'> | null>> = {
  well: null,
  error: { kind: 500 },
  refusal: { kind: 403 },
  limit: { kind: 429, retryAfter: '5' },
  nothing: { kind: 'hang' },
  half: { kind: 'half' },
};

interface Place {
  readonly name: string;
  readonly forge: FakeForge;
  readonly project: Project;
  readonly sha: string;
  secret: string;
}

const cleanup = new Cleanup();
const places: Place[] = [];
let server: ChildProcess;
let http = '';

beforeAll(async () => {
  const root = cleanup.tempDir('vole-outage-');
  const data = path.join(root, 'data');
  const tokenFile = path.join(root, 'token');
  writeFileSync(tokenFile, BOT_TOKEN);
  const open = await openData(new DataDir(data));
  for (const name of Object.keys(OUTAGES)) {
    const forge = await FakeForge.start(cleanup);
    const project = forge.project(`team/${name}`);
    const sha = forge.git(project).push({ '.vole.yml': WORKFLOW });
    project.issue(3);
    forge.user(project, 'alice', 'write');
    const repository = project.name;
    await open.store.repositories.add({ name: repository, cloneUrl: forge.cloneUrl(project), maxJobs: null });
    const at = { project: repository, apiUrl: forge.apiUrl, tokenFile, botLogin: BOT };
    const settings = new ForgeSettings(open.store.forges, open.secrets);
    places.push({
      name,
      forge,
      project,
      sha,
      secret: await settings.set({ repository, kind: 'gitea', ...at }),
    });
  }
  await open.close();
  server = spawn(process.execPath, [child, data], { env: cleanEnv(), stdio: ['ignore', 'pipe', 'inherit'] });
  cleanup.defer(async () => {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'close');
  });
  const [line] = (await once(server.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  http = line.toString().trim();
});
afterAll(() => cleanup.run());

const comments = ({ project }: Place) =>
  project.commentsOf(3).flatMap(({ author, body }) => (author === BOT ? [/\*\*.*\*\*/.exec(body)?.[0]] : []));
const statuses = ({ project, sha }: Place) =>
  project.shown(sha).map(({ context, state }) => `${context} ${state}`);
const atEnd = (place: Place) =>
  comments(place).join() === '**passed**' && statuses(place).join() === 'vole/test success';

describe(`a forge whose API is out of order for ${OUTAGE_MS / 1_000} seconds`, () => {
  it('has one comment and one status in the end, and holds up no other meanwhile', async () => {
    const faults = places.flatMap(({ name, forge }) => {
      const fault = OUTAGES[name];
      return fault ? [forge.fault({ on: () => true, ...fault })] : [];
    });
    const begun = performance.now();
    for (const { project, forge, sha, secret } of places) {
      const hook = `${http}/hooks/gitea/${project.name}`;
      const facts = { project: project.name, comment: 7, body: '/agent plan' };
      forge.comment(project, 3, 'alice', facts.body);
      const push = { event: 'push', payload: pushPayload({ project: project.name, after: sha }), secret };
      expect(await deliver(hook, push)).toBe(202);
      expect(await deliver(hook, { event: 'issue_comment', payload: commentPayload(facts), secret })).toBe(
        202,
      );
    }
    const [well, ...ill] = places as [Place, ...Place[]];
    await until('the one that is well', () => atEnd(well), 60_000);
    expect(faults.every(({ hits }) => hits > 0)).toBe(true);
    expect(ill.filter(atEnd)).toEqual([]);
    await delay(Math.max(0, begun + OUTAGE_MS - performance.now()));
    for (const fault of faults) fault.lift();

    await until('the others', () => ill.every(atEnd), 4 * OUTAGE_MS + 60_000);
    const open = async () => {
      const reply = await fetch(`${http}/api/tasks`);
      return ((await reply.json()) as { tasks: ApiTask[] }).tasks;
    };
    await until('all work to be done', async () => (await open()).length === 0);
    for (const place of places) {
      expect(comments(place), place.name).toEqual(['**passed**']);
      const ends = place.project.statuses.filter(({ state }) => state === 'success');
      expect(ends, place.name).toHaveLength(1);
    }
    // It backs off: three tasks, some six tries each in a minute, and a 429 names its time.
    for (const { hits } of faults) expect(hits).toBeLessThan(60);
  });
});
