import type { RunnerMessage, ServerMessage } from '../../shared/protocol/messages.ts';
import type { Session } from '../queue/queue.ts';
import type { LeaseCheck } from '../store/store.ts';
import type { SessionServices } from './services.ts';

type Message<T extends RunnerMessage['type']> = Extract<RunnerMessage, { type: T }>;

const NOTHING = new Uint8Array();

/** An artifact whose digest was wrong this often is not taken from this session again. */
const DIGEST_TRIES = 2;

/**
 * What a session says of runs. Each message names its run and attempt, and the store checks both
 * against the account.
 *
 * Ownership is the account's, not the session's: a run outlives the connection it was leased on, and
 * after a reconnect another session reports it. So two slots of one account look alike here. That is
 * harmless, since a report is taken only where its attempt is the run's own, which no two leases
 * share. Do not narrow it to the session: every reconnect would lose its run.
 */
export class RunReports {
  readonly #services: SessionServices;
  readonly #account: string;
  readonly #session: string;
  readonly #digestFaults = new Map<string, number>();
  /** Of the run that the presence page shows; null while none. */
  #shown: number | null = null;

  constructor(services: SessionServices, account: string, session: string) {
    this.#services = services;
    this.#account = account;
    this.#session = session;
  }

  async heartbeat({ run, attempt }: Message<'heartbeat'>): Promise<ServerMessage> {
    const { store, leaseMs } = this.#services;
    const check = await store.runs.heartbeat(this.#account, run, attempt, leaseMs);
    if (!check.ok) return this.#stale(run, check.why);
    await this.#showLeased(run, attempt);
    return ok(check);
  }

  async log({ run, attempt, offset }: Message<'log'>, bytes: Buffer): Promise<ServerMessage> {
    const check = await this.#renew(run, attempt);
    if (!check.ok) return this.#stale(run, check.why);
    const length = await this.#services.logs.append(run, attempt, offset, bytes);
    return { ...ok(check), offset: length };
  }

  async artifact(message: Message<'artifact'>, bytes: Buffer): Promise<ServerMessage> {
    const { run, attempt, name } = message;
    const check = await this.#renew(run, attempt);
    if (!check.ok) return this.#stale(run, check.why);
    const { artifacts } = this.#services;
    const done = await artifacts.append(
      run,
      attempt,
      name,
      message.offset,
      bytes,
      message.last,
      message.sha256,
    );
    if (done.error !== null) {
      const faults = (this.#digestFaults.get(name) ?? 0) + 1;
      this.#digestFaults.set(name, faults);
      if (faults >= DIGEST_TRIES) return { type: 'error', why: `artifact ${name}: ${done.error}` };
    }
    return { ...ok(check), offset: done.offset };
  }

  /**
   * A result whose log is incomplete would stay incomplete: it is taken once all of that is durable. Of a
   * small log both are one transaction, with the last of it where the message brings that along.
   * `onWritten`: called when the store has been asked to write it.
   */
  async record(message: Message<'record'>, bytes: Buffer, onWritten: () => void): Promise<ServerMessage> {
    const { run, attempt, outcome, logLength, offset } = message;
    const { store, logs } = this.#services;
    // Of a run that has ended only the same record is taken, sent again.
    const owned = bytes.length === 0 || (await this.#renew(run, attempt)).ok;
    const smallLog = logs.staysSmall(run, attempt, Math.max(logLength, offset + bytes.length));
    const appended = owned && bytes.length > 0 ? logs.append(run, attempt, offset, bytes) : null;
    if (!smallLog) {
      await appended;
      const onDisk = await this.#durableLength(run, attempt, logLength);
      if (onDisk < logLength) return await this.#shortLog(run, attempt, onDisk);
    }
    const recorded = store.runs.record(this.#account, run, attempt, outcome, logLength, { smallLog });
    onWritten();
    const [check] = await Promise.all([recorded, appended]);
    if (check === 'short') return await this.#shortLog(run, attempt, await logs.length(run, attempt));
    this.#hide(run);
    return check.ok ? { type: 'ok' } : { type: 'stale', why: check.why };
  }

  /** As far as it counts: up to `wanted`. */
  async #durableLength(run: number, attempt: number, wanted: number): Promise<number> {
    const { logs } = this.#services;
    const length = wanted === 0 ? 0 : await logs.length(run, attempt);
    return length === 0 ? 0 : await logs.append(run, attempt, length, NOTHING);
  }

  async #shortLog(run: number, attempt: number, length: number): Promise<ServerMessage> {
    const check = await this.#renew(run, attempt);
    return check.ok ? { ...ok(check), offset: length } : this.#stale(run, check.why);
  }

  /** Answered at once: a push may take minutes, and what else the runner says waits for this reply. */
  async publish({ run, attempt, request }: Message<'publish'>): Promise<ServerMessage> {
    const check = await this.#renew(run, attempt);
    if (!check.ok) return this.#stale(run, check.why);
    const published = await this.#services.publisher.ask({ run, attempt }, request);
    return { ...ok(check), published };
  }

  #renew(run: number, attempt: number): Promise<LeaseCheck> {
    return this.#services.store.runs.renew(this.#account, run, attempt, this.#services.leaseMs);
  }

  /** The run that the session has in hand, from now on. */
  show(shown: NonNullable<Session['run']>): void {
    this.#shown = shown.id;
    this.#services.registry.setRun(this.#session, shown);
  }

  async #showLeased(run: number, attempt: number): Promise<void> {
    if (this.#shown === run) return;
    const { store, now } = this.#services;
    const facts = await store.runs.get(run);
    if (!facts) return;
    const { repository, job, startedAt, cpus, memoryBytes } = facts;
    this.show({ id: run, attempt, repository, job, since: startedAt ?? now(), cpus, memoryBytes });
  }

  #hide(run: number): void {
    if (this.#shown !== run) return;
    this.#shown = null;
    this.#services.registry.setRun(this.#session, null);
  }

  #stale(run: number, why: string): ServerMessage {
    this.#hide(run);
    return { type: 'stale', why };
  }
}

function ok(check: Extract<LeaseCheck, { ok: true }>): Extract<ServerMessage, { type: 'ok' }> {
  return check.cancelWhy === null ? { type: 'ok' } : { type: 'ok', cancel: check.cancelWhy.slice(0, 1000) };
}
