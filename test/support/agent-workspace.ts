import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import type { AgentOptions } from '../../src/shared/agent/options.ts';
import type { FromWorker, WorkerTask } from '../../src/shared/worker-messages.ts';
import { makeChange } from '../../src/worker/agent/change/hand-in-change.ts';
import { OwnGit } from '../../src/worker/agent/change/own-git.ts';
import { type ChangeBounds, takeSnapshot } from '../../src/worker/agent/change/snapshot.ts';
import { makeGitDir } from '../../src/worker/checkout/tree.ts';
import { MainThread } from '../../src/worker/port.ts';
import { GitRepository } from './git-repository.ts';
import type { Cleanup } from './temp.ts';

export const AGENT_OPTIONS: AgentOptions = {
  models: {
    explore: null,
    plan: { model: 'planner', variant: null },
    build: { model: 'builder', variant: null },
  },
  planReviewRounds: 4,
  implementReviewRounds: 3,
  turnTimeoutMs: 60_000,
  installScripts: [],
  installScriptTimeoutMs: 60_000,
  installScriptsDir: null,
  pythonVersion: '3.13',
  dotnetChannel: 'LTS',
  botName: 'vole-bot',
  botEmail: 'bot@example.org',
};

/** A checkout as a run has it, in which a test does what an agent might do, and the commit that is made of it. */
export class AgentWorkspace {
  readonly remote: GitRepository;
  readonly src: string;
  readonly parent: string;
  readonly told: FromWorker[] = [];
  readonly #task: WorkerTask;
  readonly #main: MainThread;

  constructor(cleanup: Cleanup, files: Record<string, string>, prepare?: (remote: GitRepository) => void) {
    const dir = cleanup.tempDir('vole-agent-');
    this.remote = new GitRepository(path.join(dir, 'remote'));
    prepare?.(this.remote);
    this.parent = this.remote.commit(files);
    const tree = path.join(dir, 'tree');
    this.src = path.join(tree, 'src');
    const tmp = path.join(tree, 'tmp');
    mkdirSync(this.src, { recursive: true });
    mkdirSync(tmp);
    const source = {
      url: this.remote.url,
      ref: 'refs/heads/main',
      sha: this.parent,
      submodules: false,
    };
    makeGitDir(this.src, source, path.join(this.remote.dir, '.git'));
    this.git('reset', '-q', '--hard', this.parent);
    const { port1, port2 } = new MessageChannel();
    cleanup.defer(() => port1.close());
    port1.on('message', (message: FromWorker) => this.told.push(message));
    this.#main = new MainThread(port2, null);
    this.#task = {
      spec: { source },
      paths: { tree, src: this.src, tmp, artifacts: path.join(tree, 'artifacts') },
      marker: 'agent-workspace',
      artifactLimitBytes: 10_000_000,
      baseEnv: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
      agent: AGENT_OPTIONS,
    } as unknown as WorkerTask;
  }

  /** The agent's own git. */
  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.src,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '/usr/bin:/bin',
        HOME: this.src,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_AUTHOR_NAME: 'agent',
        GIT_AUTHOR_EMAIL: 'agent@example.org',
        GIT_COMMITTER_NAME: 'agent',
        GIT_COMMITTER_EMAIL: 'agent@example.org',
      },
    }).trim();
  }

  stop(): void {
    this.#main.stop({ reason: 'cancelled', why: 'by the test' });
  }

  async snapshot(options: { base?: string; bounds?: ChangeBounds } = {}) {
    const { source } = this.#task.spec;
    if (!source) throw new Error('no source');
    const own = OwnGit.make(this.#task, source, path.join(this.remote.dir, '.git'), this.#main);
    const taken = await takeSnapshot(own, this.src, this.parent, options.base ?? null, options.bounds);
    return { own, taken };
  }

  /** Fails where the workspace gives none; the bundle is fetched into the remote, as the server does. */
  async commit(message = 'Title\n\nVole-Run: 7\n', over: Partial<WorkerTask> = {}) {
    const { own, taken } = await this.snapshot();
    if (!taken.ok) throw new Error(taken.why);
    const task = { ...this.#task, ...over };
    const change = { tree: taken.snapshot.tree, parent: this.parent, message };
    const made = await makeChange(task, own, change);
    if (!made.ok) throw new Error(made.why);
    this.remote.git('fetch', '-q', made.artifact.path, `${made.commit}:refs/heads/taken-${made.commit}`);
    return { ...made, snapshot: taken.snapshot };
  }
}
