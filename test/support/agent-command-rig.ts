import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connector } from '../../src/runner/session/connect.ts';
import { newKeyPair } from '../../src/runner/session/keys.ts';
import type { SessionConnection } from '../../src/runner/session/session.ts';
import type { Run } from '../../src/server/store/store.ts';
import { type AgentResult, CHANGE_ARTIFACT, type PublishRequest } from '../../src/shared/agent/result.ts';
import { AGENT_LABEL } from '../../src/shared/agent/spec.ts';
import { type JobSpec, jobSpecSchema } from '../../src/shared/job-spec.ts';
import type { RunOutcome, RunState } from '../../src/shared/outcome.ts';
import { parsePublicKey } from '../../src/shared/public-key.ts';
import type { Settled } from '../../src/shared/worker-messages.ts';
import { EventRig } from './event-rig.ts';
import type { PushedRepository } from './forge/pushed-repository.ts';
import type { Project } from './forge/state.ts';
import { type CommentFacts, commentPayload } from './payloads.ts';
import { HELLO, leaseRequest } from './ssh-rig.ts';
import { outcome } from './store-rig.ts';
import { until } from './until.ts';

export interface LeasedAgent {
  readonly run: number;
  readonly attempt: number;
  readonly spec: JobSpec;
}

/** A real server with agents, a repository on the stand-in of a forge over git's own HTTP, and runners by SSH. */
export class AgentCommandRig {
  readonly events: EventRig;
  readonly project: Project;
  readonly git: PushedRepository;
  readonly #key = newKeyPair();
  #comments = 1000;
  #sessions = 0;

  private constructor(events: EventRig, project: Project, git: PushedRepository) {
    this.events = events;
    this.project = project;
    this.git = git;
  }

  static async start(flags: Readonly<Record<string, string>> = {}): Promise<AgentCommandRig> {
    const events = await EventRig.start({ agent: 'true', 'max-concurrent-commands': '32', ...flags });
    const project = events.forge.project('team/app');
    events.forge.user(project, 'alice', 'write');
    events.forge.user(project, 'bob', 'read');
    for (let issue = 1; issue < 5; issue += 1) project.issue(issue);
    const rig = new AgentCommandRig(events, project, events.forge.git(project));
    rig.git.push({ 'a.txt': 'one\n', 'b.txt': 'b\n' });
    await events.server.store.repositories.set('team/app', { cloneUrl: events.forge.cloneUrl(project) });
    await rig.know('build1', rig.#key.publicKey);
    return rig;
  }

  get store() {
    return this.events.server.store;
  }

  async know(account: string, publicKey: string): Promise<void> {
    const parsed = parsePublicKey(publicKey);
    if (!parsed.ok) throw new Error(parsed.fault);
    await this.store.accounts.addKey(account, parsed.key.publicKey, parsed.key.fingerprint);
  }

  /** A welcomed session of a slot of its own. */
  async connect(
    hello: { readonly labels?: readonly string[]; readonly protocol?: number } = {},
    as = { account: 'build1', privateKey: this.#key.privateKey },
  ): Promise<SessionConnection> {
    const { labels = [AGENT_LABEL], protocol } = hello;
    const endpoint = { ...this.events.server.ssh, ...as, hostKeys: [this.events.server.fingerprint] };
    const connect = connector(protocol === undefined ? {} : { protocol });
    const { signal } = new AbortController();
    const facts = { ...HELLO, labels: [...labels], slot: this.#sessions++, slots: 100 };
    const connected = await connect(endpoint, facts, { signal });
    if (!connected.ok) throw new Error(connected.disconnect.why);
    this.events.cleanup.defer(() => connected.session.destroy());
    return connected.session;
  }

  /** Somebody comments; resolves when the delivery was worked on, with the newest run. */
  async comment(body: string, facts: Partial<CommentFacts> = {}, repository = 'team/app'): Promise<Run> {
    const payload = commentPayload({ comment: ++this.#comments, body, ...facts });
    await this.events.deliver('issue_comment', payload, { repository });
    await this.events.settled();
    const run = (await this.events.runs()).at(-1);
    if (!run) throw new Error('no run');
    return run;
  }

  async isIn(run: number, state: RunState): Promise<Run> {
    return until(`run ${run} is ${state}`, async () => {
      const now = await this.store.runs.get(run);
      return now?.state === state ? now : null;
    });
  }

  /** Comments, and leases the run that comes of it. */
  async command(
    session: SessionConnection,
    body: string,
    facts: Partial<CommentFacts> = {},
  ): Promise<LeasedAgent> {
    await this.comment(body, facts);
    return this.lease(session);
  }

  async lease(session: SessionConnection): Promise<LeasedAgent> {
    const job = await session.lease(leaseRequest(20));
    if (job.type !== 'job') throw new Error(`no job but ${job.type}`);
    await session.heartbeat(job.run, job.attempt);
    return { run: job.run, attempt: job.attempt, spec: jobSpecSchema.parse(job.spec) };
  }

  /** One commit on what was leased, made from these files, as a bundle and its request. */
  change(leased: Pick<LeasedAgent, 'spec'>, files: Readonly<Record<string, string>>, message = 'A change') {
    const parent = leased.spec.source?.sha ?? '';
    const { work } = this.git;
    work.git('fetch', '-q', this.git.bare, '+refs/heads/*:refs/remotes/bare/*');
    work.git('checkout', '-q', '--detach', parent);
    const commit = work.commit(files, message);
    const request: PublishRequest = { commit, parent, title: 'Do it', body: 'Because.' };
    const bundle = this.bundle(`${parent}..HEAD`);
    work.git('checkout', '-q', 'main');
    return { request, bundle };
  }

  /** Of what `range` names, which ends at HEAD. */
  bundle(range: string): string {
    const file = path.join(this.events.dir, `change-${this.#sessions++}.bundle`);
    this.git.work.git('bundle', 'create', '-q', file, range);
    return file;
  }

  async handIn(session: SessionConnection, { run, attempt }: LeasedAgent, bundle: string): Promise<void> {
    const bytes = readFileSync(bundle);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const part = { name: CHANGE_ARTIFACT, offset: 0, bytes, last: true, sha256 };
    const reply = await session.artifact(run, attempt, part);
    if (reply.type !== 'ok' || reply.offset !== bytes.length) throw new Error(JSON.stringify(reply));
  }

  /** As a runner does: again and again until it is told what became of it. */
  async published(
    session: SessionConnection,
    { run, attempt }: Pick<LeasedAgent, 'run' | 'attempt'>,
    request: PublishRequest,
  ): Promise<Settled> {
    for (;;) {
      const reply = await session.publish(run, attempt, request);
      if (reply.type !== 'ok' || reply.published === undefined) throw new Error(JSON.stringify(reply));
      if (reply.published.state !== 'pending') return reply.published;
      await delay(50);
    }
  }

  async publish(session: SessionConnection, leased: LeasedAgent, files: Readonly<Record<string, string>>) {
    const { request, bundle } = this.change(leased, files);
    await this.handIn(session, leased, bundle);
    return this.published(session, leased, request);
  }

  async record(
    session: SessionConnection,
    { run, attempt }: LeasedAgent,
    agent: Partial<AgentResult> = {},
    change: Partial<RunOutcome> = {},
  ): Promise<void> {
    const result = { session: null, report: '', plan: null, rounds: 0, change: null, ...agent };
    await session.record(run, attempt, { ...outcome('passed'), ...change, agent: result }, 0);
  }

  /** The text of vole's comment of this run, once it says this. */
  async commentSays(run: number, what: RegExp): Promise<string> {
    return this.events.forge.state.until(`the comment of run ${run} to say ${what}`, () => {
      const own = [...this.project.comments.values()].find(({ body }) =>
        body.startsWith(`<!-- vole:run:${run} -->`),
      );
      return own !== undefined && what.test(own.body) ? own.body : null;
    });
  }

  close(): Promise<void> {
    return this.events.close();
  }
}
