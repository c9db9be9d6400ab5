import { createHmac, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ForgeSettings } from '../../src/server/forges/settings.ts';
import { Secrets } from '../../src/server/secrets/secrets.ts';
import { type RunningServer, type ServerLog, startServer } from '../../src/server/server.ts';
import type { StoredEvent } from '../../src/server/store/event-store.ts';
import type { Pipeline, Run } from '../../src/server/store/store.ts';
import type { ForgeKind } from '../../src/shared/api-forge.ts';
import { resolveSettings } from '../../src/shared/settings/resolve.ts';
import type { StandingFault } from './forge/faults.ts';
import { BOT, BOT_TOKEN, FakeForge } from './forge/forge.ts';
import { GitRepository } from './git-repository.ts';
import { Cleanup } from './temp.ts';
import { until } from './until.ts';

export interface DeliverOptions {
  readonly forge?: ForgeKind;
  /** As registered on the server. */
  readonly repository?: string;
  readonly id?: string;
  /** Instead of the right ones; undefined leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly secret?: string;
}

export interface Replied {
  readonly status: number;
  readonly text: string;
}

const PREFIX: Readonly<Record<ForgeKind, string>> = {
  gitea: 'x-gitea',
  forgejo: 'x-forgejo',
  github: 'x-github',
};

/** The headers that a forge sends with a body, signed. */
export function signedHeaders(
  forge: ForgeKind,
  event: string,
  body: string | Uint8Array,
  facts: { readonly secret: string; readonly id: string },
): Record<string, string> {
  const hex = createHmac('sha256', facts.secret).update(body).digest('hex');
  const own: Record<string, string> = forge === 'github' ? {} : { [`${PREFIX[forge]}-signature`]: hex };
  return {
    'content-type': 'application/json',
    [`${PREFIX[forge]}-event`]: event,
    [`${PREFIX[forge]}-delivery`]: facts.id,
    'x-hub-signature-256': `sha256=${hex}`,
    ...own,
  };
}

/** A real server in this process with repositories of the real git, and deliveries over real HTTP. */
export class EventRig {
  readonly cleanup: Cleanup;
  readonly dir: string;
  readonly forge: FakeForge;
  readonly secrets = new Map<string, string>();
  /** Lines of the server's log, from `info` up. */
  readonly said: string[] = [];
  readonly #flags: Readonly<Record<string, string>>;
  server!: RunningServer;
  source!: GitRepository;
  /** What keeps the forge from telling carol's rights. */
  silence!: StandingFault;

  private constructor(cleanup: Cleanup, forge: FakeForge, flags: Readonly<Record<string, string>>) {
    this.cleanup = cleanup;
    this.forge = forge;
    this.#flags = flags;
    this.dir = cleanup.tempDir('vole-events-');
    writeFileSync(path.join(this.dir, 'token'), BOT_TOKEN);
  }

  /** With `team/app` registered, of a Gitea; alice may write there, bob read, carol's rights are never told. */
  static async start(flags: Readonly<Record<string, string>> = {}): Promise<EventRig> {
    const cleanup = new Cleanup();
    const rig = new EventRig(cleanup, await FakeForge.start(cleanup), flags);
    await rig.restart();
    rig.cleanup.defer(() => rig.server.close());
    rig.source = await rig.add('team/app');
    rig.silence = rig.forge.fault({ on: ({ path }) => path.includes('/carol/'), kind: 'hang' });
    return rig;
  }

  async restart(): Promise<void> {
    await this.server?.close();
    const flags = { data: path.join(this.dir, 'data'), http: '127.0.0.1:0', ssh: '127.0.0.1:0' };
    const resolved = resolveSettings('server', { ...flags, ...this.#flags }, {}, '/');
    if (!resolved.ok) throw new Error(resolved.faults.join('; '));
    const { settings } = resolved;
    this.server = await startServer({ settings, version: '0', env: process.env, log: this.#log() });
  }

  async add(name: string, kind: ForgeKind = 'gitea', project = name): Promise<GitRepository> {
    const repository = new GitRepository(path.join(this.dir, 'git', name));
    await this.register(name, repository, kind, project);
    return repository;
  }

  async register(
    name: string,
    repository: GitRepository,
    kind: ForgeKind = 'gitea',
    project = name,
  ): Promise<void> {
    const there = this.forge.project(project);
    this.forge.user(there, 'alice', 'write');
    this.forge.user(there, 'bob', 'read');
    for (let issue = 1; issue < 10; issue += 1) there.issue(issue);
    const { store } = this.server;
    await store.repositories.add({ name, cloneUrl: repository.dir, maxJobs: null });
    const settings = new ForgeSettings(store.forges, new Secrets(path.join(this.dir, 'data'), store));
    const secret = await settings.set({
      repository: name,
      kind,
      project,
      apiUrl: this.forge.apiUrl,
      tokenFile: path.join(this.dir, 'token'),
      botLogin: BOT,
    });
    this.secrets.set(name, secret);
  }

  async deliver(event: string, payload: unknown, options: DeliverOptions = {}): Promise<Replied> {
    const { forge = 'gitea', repository = 'team/app', id = randomUUID() } = options;
    const body =
      typeof payload === 'string' || payload instanceof Uint8Array ? payload : JSON.stringify(payload);
    const secret = options.secret ?? this.secrets.get(repository) ?? 'none';
    const headers = { ...signedHeaders(forge, event, body, { secret, id }), ...options.headers };
    const reply = await fetch(`${this.server.http.url}/hooks/${forge}/${repository}`, {
      method: 'POST',
      headers: Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
      body: typeof body === 'string' ? body : Buffer.from(body),
    });
    return { status: reply.status, text: (await reply.text()).trim() };
  }

  /** All events, the earliest first. */
  async events(): Promise<StoredEvent[]> {
    return (await this.server.store.events.list({ limit: 1000 })).toReversed();
  }

  /** When nothing is pending: all events, the earliest first. */
  async settled(): Promise<StoredEvent[]> {
    return until('every event has been worked on', async () => {
      const events = await this.events();
      return events.every(({ pending }) => !pending) ? events : null;
    });
  }

  async eventIs(id: number, check: (event: StoredEvent) => boolean): Promise<StoredEvent> {
    return until(`event ${id}`, async () => {
      const event = (await this.events()).find((event) => event.id === id);
      return event !== undefined && check(event) ? event : null;
    });
  }

  /** The earliest first. */
  async runs(): Promise<Run[]> {
    return (await this.server.store.runs.list({ limit: 1000 })).toReversed();
  }

  async pipelines(): Promise<Pipeline[]> {
    const found: Pipeline[] = [];
    for (let id = 1; ; id += 1) {
      const pipeline = await this.server.store.runs.pipeline(id);
      if (pipeline === null) return found;
      found.push(pipeline);
    }
  }

  #log(): ServerLog {
    const say = (facts: object, text: string) => void this.said.push(`${text} ${JSON.stringify(facts)}`);
    return { debug: () => {}, info: say, warn: say, error: say };
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }
}
