import { AGENT_LABEL } from '../../shared/agent/spec.ts';
import { matchesRepository } from '../../shared/globs.ts';
import type { RunOutcome } from '../../shared/outcome.ts';
import { encodeLine } from '../../shared/protocol/codec.ts';
import {
  type Hello,
  type Lease,
  PUBLISH_PROTOCOL_VERSION,
  type RunnerMessage,
  type ServerMessage,
} from '../../shared/protocol/messages.ts';
import { agreeOnVersion } from '../../shared/protocol/versions.ts';
import type { LeasedRun } from '../queue/queue.ts';
import { newSessionId } from '../queue/session-id.ts';
import { plainLine } from './plain-line.ts';
import type { EndedSession, Inheritance } from './registry.ts';
import { RunReports } from './run-reports.ts';
import type { SessionServices } from './services.ts';

/** Who is at the other end. */
export interface Peer {
  readonly account: string;
  readonly publicKey: string;
  readonly address: string;
  /** Ends the connection at once. */
  readonly drop: () => void;
}

type Report = Exclude<RunnerMessage, Hello | Lease>;

/** What is known of a session from its hello on. */
interface Welcomed {
  readonly id: string;
  readonly hello: Hello;
  readonly reports: RunReports;
}

const REFUSED: RunOutcome = { result: 'refused', reason: 'bad-job', detail: '', steps: [], durationMs: 0 };

export interface Answer {
  readonly reply: ServerMessage;
  /** The connection ends after the reply. */
  readonly end: boolean;
}

/** A lease that is answered later than this is not accepted by its reply: its runner may have withdrawn it. */
const AT_ONCE_MS = 250;

/** What one connection's messages mean, one at a time but for a lease with a record. Knows nothing of SSH. */
export class RunnerSession {
  readonly #services: SessionServices;
  readonly #peer: Peer;
  readonly #withdrawn = new AbortController();
  readonly #settled: Promise<void>;
  #settle: () => void = () => {};
  #welcomed: Welcomed | null = null;
  /** From a half-open predecessor, until this session has made its first request. */
  #inherited: Inheritance | null = null;
  #isReplaced = false;
  /** Whether the peer may have a run in hand: one that reconnects may, and does not say so at once. */
  #mayHaveRun = true;
  #isKeyGone = false;
  #isLeasing = false;
  /** Attempts that were accepted with their lease's reply, until they are recorded: they outlive this session. */
  readonly #accepted = new Set<string>();
  /** The report that is being answered: a lease that came with it counts after it. */
  #reporting: Promise<unknown> = Promise.resolve();
  /** The store was asked to write the record that is being answered, if any. */
  #recordWritten: Promise<void> = Promise.resolve();
  /** Whether the record right before has ended its run here: only then a lease behind it is accepted. */
  #recordEnded: Promise<boolean> = Promise.resolve(false);

  constructor(services: SessionServices, peer: Peer) {
    this.#services = services;
    this.#peer = peer;
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get welcomed(): boolean {
    return this.#welcomed !== null;
  }

  async answer(message: RunnerMessage, bytes: Buffer): Promise<Answer> {
    if (message.type === 'hello') return await this.#greet(message);
    const welcomed = this.#welcomed;
    if (!welcomed) return last({ type: 'error', why: `the first message is 'hello', not '${message.type}'` });
    if (message.type === 'lease') {
      this.#setLeasing(welcomed, true);
      const leased = await this.#lease(message, welcomed).finally(() => {
        this.#setLeasing(welcomed, false);
      });
      await this.#reporting;
      this.#mayHaveRun = leased.reply.type === 'job';
      return leased;
    }
    const report = this.#answerReport(welcomed, message, bytes);
    this.#reporting = report.catch(() => {});
    return await report;
  }

  async #answerReport(welcomed: Welcomed, message: Report, bytes: Buffer): Promise<Answer> {
    const answer = await this.#report(welcomed, message, bytes);
    await this.#giveBackInherited();
    if (endsRun(message, answer.reply)) this.#mayHaveRun = false;
    return this.#isKeyGone && !this.#mayHaveRun ? { ...answer, end: true } : answer;
  }

  async #report({ reports }: Welcomed, message: Report, bytes: Buffer): Promise<Answer> {
    switch (message.type) {
      case 'heartbeat':
        return then(await reports.heartbeat(message));
      case 'log':
        return then(await reports.log(message, bytes));
      case 'artifact':
        return then(await reports.artifact(message, bytes));
      case 'record':
        return then(await this.#record(reports, message, bytes));
      case 'publish':
        return then(await reports.publish(message));
      case 'bye':
        return last({ type: 'ok' });
      default:
        return message satisfies never;
    }
  }

  /** A lease that came with it claims in the same transaction, and sees what the record frees. */
  async #record(
    reports: RunReports,
    message: Extract<RunnerMessage, { type: 'record' }>,
    bytes: Buffer,
  ): Promise<ServerMessage> {
    let isWritten = (): void => {};
    this.#recordWritten = new Promise((resolve) => {
      isWritten = resolve;
    });
    const reply = reports.record(message, bytes, isWritten).finally(isWritten);
    this.#recordEnded = reply.then(
      (answer) => {
        const ended = endsRun(message, answer);
        if (!ended) return false;
        this.#accepted.delete(attemptOf(message));
        // A lease that came with it looks by itself.
        if (!this.#isLeasing && this.#welcomed) this.#services.queue.freed(this.#welcomed.id);
        return true;
      },
      () => false,
    );
    return await reply;
  }

  /** Some account has lost a key. Where it is ours, only a run in hand may still be reported. */
  async keysRemoved(): Promise<void> {
    if (this.#isKeyGone || (await this.#hasKey())) return;
    this.#isKeyGone = true;
    if (this.#isLeasing) this.withdraw();
    else if (!this.#mayHaveRun) this.#peer.drop();
  }

  /** A waiting lease is answered with `idle`. Idempotent. */
  withdraw(): void {
    this.#withdrawn.abort();
  }

  /** Call once nothing is being answered any more: a lease that was never accepted is given back. */
  async ended(): Promise<void> {
    const welcomed = this.#welcomed;
    if (welcomed) this.#services.registry.remove(welcomed.id);
    this.#settle();
    if (this.#isReplaced) return;
    if (welcomed) await this.#giveBack({ id: welcomed.id, accepted: this.#accepted });
    await this.#giveBackInherited();
  }

  /**
   * The successor says whether it still wants what was leased here, by repeating the key: given back
   * at once, the run would go to whoever waits, and be leased anew under another attempt.
   */
  #replaced(id: string): Inheritance {
    const inherited = this.#inherited;
    this.#inherited = null;
    this.#isReplaced = true;
    this.#peer.drop();
    return {
      sessions: [...(inherited?.sessions ?? []), { id, accepted: this.#accepted }],
      settled: Promise.all([inherited?.settled, this.#settled]),
    };
  }

  /** A lease whose key was repeated stands on this session by now, and stays. */
  async #giveBackInherited(): Promise<void> {
    const inherited = this.#inherited;
    if (!inherited) return;
    this.#inherited = null;
    await inherited.settled;
    for (const session of inherited.sessions) await this.#giveBack(session);
  }

  async #giveBack({ id, accepted }: EndedSession): Promise<void> {
    await this.#services.store.runs.sessionEnded(id, (lease) => !accepted.has(attemptOf(lease)));
  }

  async #greet(hello: Hello): Promise<Answer> {
    if (this.#welcomed) return last({ type: 'error', why: "a session says 'hello' once" });
    const { protocol, registry, serverId, leaseMs, store, now, limits } = this.#services;
    const version = agreeOnVersion(protocol, hello.protocol);
    if (!version.ok) return last({ type: 'refused', code: 'protocol', why: version.why });
    if (hello.repos.length > 0) {
      const known = await store.repositories.list();
      if (!known.some(({ name }) => matchesRepository(hello.repos, name))) {
        const filter = plainLine(hello.repos.join(','), 200);
        const why = `no registered repository matches --repos ${filter}`;
        return last({ type: 'refused', code: 'repos', why });
      }
    }
    // A connection that has closed meanwhile must not take the place of its own successor.
    if (this.#withdrawn.signal.aborted) return last({ type: 'error', why: 'the connection has closed' });
    const { account, address } = this.#peer;
    const { type: _type, protocol: _protocol, ...facts } = hello;
    const id = newSessionId({ ...facts, account });
    const session = { ...facts, id, account, address, since: now() };
    const admitted = registry.admit({ session, replaced: () => this.#replaced(id) });
    if (!admitted.ok) return last({ type: 'busy', why: admitted.why });
    this.#welcomed = { id, hello, reports: new RunReports(this.#services, account, id) };
    this.#inherited = admitted.inherited;
    return then({
      type: 'welcome',
      session: id,
      server: serverId,
      protocol: version.protocol,
      leaseSeconds: leaseMs / 1000,
      limits: { lineBytes: limits.lineBytes, frameBytes: limits.frameBytes },
    });
  }

  async #lease(message: Lease, { id, hello, reports }: Welcomed): Promise<Answer> {
    const { store, queue, limits } = this.#services;
    const { account } = this.#peer;
    const asked = performance.now();
    const recordEnded = this.#recordEnded;
    this.#recordEnded = Promise.resolve(false);
    await this.#recordWritten;
    // A key that was removed takes no more work; what its sessions have in hand they may finish.
    if (!(await this.#hasKey())) return this.#keyGone();
    const request = {
      session: { ...hello, id, account, labels: labelsOf(hello) },
      key: message.key,
      freeCpus: message.freeCpus,
      freeMemoryBytes: message.freeMemoryBytes,
      waitMs: message.waitSeconds * 1000,
      signal: this.#withdrawn.signal,
    };
    let leased: LeasedRun | null = null;
    if (this.#inherited) {
      // Without waiting first: what is not wanted again must not be held back while this lease waits,
      // and the predecessor must not claim with the same key behind our back.
      await this.#inherited.settled;
      leased = await queue.lease({ ...request, waitMs: 0 });
      await this.#giveBackInherited();
    }
    leased ??= await queue.lease(request);
    const mayAccept = message.accept && leased !== null && (await recordEnded);
    // It may have gone while the request waited; a lease that was claimed meanwhile is given back at the end.
    if (!(await this.#hasKey())) return this.#keyGone();
    if (!leased) return then({ type: 'idle' });
    const { run, attempt, spec } = leased;
    const accepted = mayAccept && !this.#withdrawn.signal.aborted && performance.now() - asked < AT_ONCE_MS;
    const job = { type: 'job', run, attempt, spec, accepted } as const;
    const length = encodeLine(job).length - 1;
    if (length <= limits.lineBytes) {
      if (accepted) this.#accept(reports, leased);
      return then(job);
    }
    // No runner could read it, so it must not go on to the next one.
    const detail = `the job is described in ${length} bytes, and a message has at most ${limits.lineBytes}`;
    await store.runs.record(account, run, attempt, { ...REFUSED, detail }, 0);
    return then({ type: 'idle' });
  }

  #accept(reports: RunReports, leased: LeasedRun): void {
    const { run, attempt, repository, job, startedAt, cpus, memoryBytes } = leased;
    this.#accepted.add(attemptOf(leased));
    reports.show({ id: run, attempt, repository, job, since: startedAt, cpus, memoryBytes });
  }

  #setLeasing({ id }: Welcomed, isLeasing: boolean): void {
    this.#isLeasing = isLeasing;
    this.#services.registry.setAsking(id, isLeasing);
  }

  async #hasKey(): Promise<boolean> {
    const { account, publicKey } = this.#peer;
    return (await this.#services.store.accounts.accountOf(publicKey)) === account;
  }

  #keyGone(): Answer {
    return last({ type: 'error', why: `the key is no longer one of account ${this.#peer.account}` });
  }
}

/** A runner that could not hand a change in gets no agent run, whatever it says of itself. */
function labelsOf({ labels, protocol }: Hello): readonly string[] {
  return protocol >= PUBLISH_PROTOCOL_VERSION ? labels : labels.filter((label) => label !== AGENT_LABEL);
}

/** No two leases of a run share one. */
function attemptOf({ run, attempt }: { readonly run: number; readonly attempt: number }): string {
  return `${run}-${attempt}`;
}

/** The peer has said all of its run, or was told that it is not its own. */
function endsRun(message: RunnerMessage, reply: ServerMessage): boolean {
  if (reply.type === 'stale') return true;
  return message.type === 'record' && reply.type === 'ok' && reply.offset === undefined;
}

function then(reply: ServerMessage): Answer {
  return { reply, end: false };
}

function last(reply: ServerMessage): Answer {
  return { reply, end: true };
}
