import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import type { ApiMachines, ApiRun, ApiRunDetail, ServerFile } from '../../src/shared/api.ts';
import { parseRecord } from '../../src/shared/log-record.ts';
import { isFinal } from '../../src/shared/outcome.ts';
import { Cleanup } from './temp.ts';
import { until } from './until.ts';
import { VoleProcess } from './vole-process.ts';

export type Job = Record<string, unknown> & { steps: (string | Record<string, unknown>)[] };

/** A server process, repositories and runner processes of the built program, in folders of their own. */
export class Rig {
  readonly cleanup: Cleanup;
  readonly root: string;
  readonly dataDir: string;
  readonly keyFile: string;
  #server: VoleProcess | null = null;
  #facts: ServerFile | null = null;

  private constructor(root: string, cleanup: Cleanup) {
    this.cleanup = cleanup;
    this.root = root;
    this.dataDir = path.join(root, 'data');
    this.keyFile = path.join(root, 'key');
  }

  static async start(serverArgs: readonly string[] = []): Promise<Rig> {
    const cleanup = new Cleanup();
    const rig = new Rig(cleanup.tempDir('vole-e2e-'), cleanup);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', rig.keyFile]);
    await rig.startServer(serverArgs);
    await rig.addAccount('tester', rig.keyFile);
    return rig;
  }

  async addAccount(account: string, keyFile: string): Promise<void> {
    await this.api('POST', '/api/keys', { account, publicKey: readFileSync(`${keyFile}.pub`, 'utf8') });
  }

  /** Ports are kept over a restart when asked for in `args`. */
  async startServer(args: readonly string[] = []): Promise<VoleProcess> {
    const ports = args.includes('--ssh') ? [] : ['--http', '127.0.0.1:0', '--ssh', '127.0.0.1:0'];
    const server = new VoleProcess(['server', '--data', this.dataDir, ...ports, ...args]);
    this.#server = server;
    this.cleanup.defer(() => server.destroy());
    await server.says(/ready|listening/i);
    const file = path.join(this.dataDir, 'server.json');
    this.#facts = JSON.parse(readFileSync(file, 'utf8')) as ServerFile;
    return server;
  }

  get server(): VoleProcess {
    if (!this.#server) throw new Error('no server');
    return this.#server;
  }

  get facts(): ServerFile {
    if (!this.#facts) throw new Error('no server');
    return this.#facts;
  }

  async api<T = unknown>(method: string, route: string, body?: unknown): Promise<T> {
    const reply = await fetch(this.facts.http + route, {
      method,
      headers: { authorization: `Bearer ${this.facts.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${route}: ${reply.status} ${text}`);
    return (text ? JSON.parse(text) : null) as T;
  }

  /** A git repository with this workflow, registered under `name`. */
  async repository(
    name: string,
    jobs: Record<string, Job>,
    options: { maxJobs?: number; files?: Record<string, string> } = {},
  ): Promise<string> {
    const folder = path.join(this.root, 'repos', name);
    mkdirSync(folder, { recursive: true });
    const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { stdio: 'pipe' });
    git('init', '-q', '-b', 'main');
    git('config', 'user.name', 't');
    git('config', 'user.email', 't@example.invalid');
    const files = { ...options.files, '.vole.yml': workflow(jobs) };
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    git('add', '-A');
    git('commit', '-q', '-m', 'first');
    await this.api('POST', '/api/repos', { name, cloneUrl: folder, maxJobs: options.maxJobs ?? null });
    return folder;
  }

  /** Queues the workflow; the runs' ids in the order of the jobs. */
  async submit(repository: string, jobs: readonly string[] = []): Promise<number[]> {
    const pipeline = await this.api<{ runs: { id: number }[]; fault: string | null }>(
      'POST',
      '/api/pipelines',
      {
        repository,
        ref: 'main',
        jobs,
      },
    );
    if (pipeline.fault) throw new Error(pipeline.fault);
    return pipeline.runs.map((run) => run.id);
  }

  runnerArgs(args: readonly string[] = []): string[] {
    const dir = args.includes('--dir') ? [] : ['--dir', path.join(this.root, 'dir')];
    const key = args.includes('--key') ? [] : ['--key', this.keyFile];
    const server = args.includes('--server') ? [] : ['--server', `ssh://tester@${this.facts.ssh}`];
    const hostKey = args.includes('--host-key') ? [] : ['--host-key', this.facts.fingerprint];
    return ['runner', ...server, ...key, ...hostKey, ...dir, ...args];
  }

  /** `command`: what starts it, see `VoleProcess`. */
  runner(
    args: readonly string[] = [],
    env: Record<string, string> = {},
    command?: readonly string[],
  ): VoleProcess {
    const runner = new VoleProcess(this.runnerArgs(args), { env, ...(command ? { command } : {}) });
    this.cleanup.defer(() => runner.destroy());
    return runner;
  }

  async run(id: number): Promise<ApiRunDetail> {
    return await this.api('GET', `/api/runs/${id}`);
  }

  async runs(): Promise<ApiRun[]> {
    return (await this.api<{ runs: ApiRun[] }>('GET', '/api/runs?limit=1000')).runs;
  }

  async runIs(id: number, check: (run: ApiRunDetail) => boolean, deadlineMs = 60_000): Promise<ApiRunDetail> {
    let last: ApiRunDetail | null = null;
    return await until(
      `run ${id}`,
      async () => {
        last = await this.run(id);
        return check(last) ? last : null;
      },
      deadlineMs,
    ).catch((error: unknown) => {
      throw new Error(`run ${id} never came so far: ${JSON.stringify(last)}`, { cause: error });
    });
  }

  async ended(id: number, deadlineMs = 60_000): Promise<ApiRunDetail> {
    return await this.runIs(id, (run) => isFinal(run.state), deadlineMs);
  }

  async machines(): Promise<ApiMachines['machines']> {
    return (await this.api<ApiMachines>('GET', '/api/runners')).machines;
  }

  async rawLog(id: number, attempt?: number): Promise<string> {
    const which = attempt ? `?attempt=${attempt}` : '';
    const reply = await fetch(`${this.facts.http}/api/runs/${id}/log${which}`, {
      headers: { authorization: `Bearer ${this.facts.token}` },
    });
    return await reply.text();
  }

  /** What the steps printed. */
  async output(id: number, attempt?: number): Promise<string> {
    const lines = (await this.rawLog(id, attempt)).split('\n').map(parseRecord);
    return lines.flatMap((record) => (record && record.stream !== 'v' ? [record.text] : [])).join('\n');
  }

  /** Until a step has printed it. */
  async logHas(id: number, text: string): Promise<void> {
    await until(`'${text}' in the log of run ${id}`, async () => (await this.output(id)).includes(text));
  }

  async close(): Promise<void> {
    await this.cleanup.run();
  }
}

function workflow(jobs: Record<string, Job>): string {
  const entries = Object.entries(jobs).map(([name, job]) => [
    name,
    {
      checkout: false,
      ...job,
      steps: job.steps.map((step) => (typeof step === 'string' ? { run: step } : step)),
    },
  ]);
  return stringify({ on: ['push'], jobs: Object.fromEntries(entries) });
}
