import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { AgentServer } from '../../src/runner/agent/agent-server.ts';
import { openDir, type RunnerDir } from '../../src/runner/dir/open-dir.ts';
import type { AgentOptions } from '../../src/shared/agent/options.ts';
import type { PublishRequest } from '../../src/shared/agent/result.ts';
import type { AgentSpec } from '../../src/shared/agent/spec.ts';
import type { Settled } from '../../src/shared/worker-messages.ts';
import { AGENT_OPTIONS } from './agent-workspace.ts';
import { GitRepository } from './git-repository.ts';
import { type ModelAnswer, ModelServer, type ToolCall } from './model-server.ts';
import { Cleanup } from './temp.ts';
import { type RigRun, WorkerRig } from './worker-rig.ts';

/** What the main thread of a runner has its workers mask. */
export const SERVICE_KEY = 'key-of-the-service';

/** Agent runs in the built worker, with a real OpenCode server and a scripted model behind it. */
export class AgentFlowRig {
  readonly cleanup: Cleanup;
  readonly model: ModelServer;
  readonly worker: WorkerRig;
  readonly dir: RunnerDir;
  #remotes = 0;

  private constructor(parts: Pick<AgentFlowRig, 'cleanup' | 'model' | 'worker' | 'dir'>) {
    this.cleanup = parts.cleanup;
    this.model = parts.model;
    this.worker = parts.worker;
    this.dir = parts.dir;
  }

  static async start(): Promise<AgentFlowRig> {
    const cleanup = new Cleanup();
    const model = await ModelServer.start();
    const dir = await openDir(realpathSync(cleanup.tempDir('vole-flows-')));
    const server = new AgentServer({
      dir,
      process: `rig-${process.pid}`,
      options: AGENT_OPTIONS,
      service: { url: model.url, key: SERVICE_KEY, context7Key: null },
      path: process.env['PATH'] ?? '/usr/bin:/bin',
      searchFile: path.resolve(import.meta.dirname, '../../dist/search.js'),
      say: () => {},
      warn: () => {},
    });
    const worker = new WorkerRig({ threads: 2, agentServer: () => server.access() });
    cleanup.defer(() => model.close());
    cleanup.defer(() => server.close());
    cleanup.defer(() => worker.close());
    return new AgentFlowRig({ cleanup, model, worker, dir });
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }

  remote(
    files: Readonly<Record<string, string>> = { 'a.txt': 'one\n', '.gitignore': 'out/\n' },
  ): AgentRemote {
    return new AgentRemote(path.join(this.worker.dir, 'remotes', String(++this.#remotes)), files);
  }

  start(
    remote: AgentRemote,
    spec: Partial<AgentSpec> & Pick<AgentSpec, 'command'>,
    over: { options?: Partial<AgentOptions>; secrets?: Record<string, string> } = {},
  ): RigRun {
    const name = `${Date.now()}-${Math.random().toString(36).slice(2)}.rig`;
    const tree = path.join(this.dir.layout.jobs, name);
    const paths = {
      tree,
      src: path.join(tree, 'src'),
      tmp: path.join(tree, 'tmp'),
      spool: path.join(tree, 'log'),
      artifacts: path.join(tree, 'artifacts'),
    };
    for (const folder of [paths.src, paths.tmp]) mkdirSync(folder, { recursive: true });
    const run = this.worker.start(
      {
        steps: [],
        timeoutMs: 300_000,
        source: { url: remote.git.url, sha: remote.head },
        secrets: over.secrets ?? {},
        agent: {
          message: '',
          author: 'ann',
          target: { number: 12, pull: false, title: 'It breaks', body: 'Always.', comments: [] },
          branch: null,
          plan: null,
          session: null,
          base: null,
          ...spec,
        },
      },
      {
        marker: `${this.dir.id}/${name}`,
        agent: { ...AGENT_OPTIONS, ...over.options },
        masked: [SERVICE_KEY],
      },
      paths,
    );
    run.publish = async (request) => remote.take(run, request);
    return run;
  }

  /** The texts that the n-th request showed the model, from the start of the script. */
  shown(number: number): string {
    return JSON.stringify(this.model.asked[number - 1]?.messages ?? null);
  }
}

/** A repository that takes what is published, as the server pushes it. */
export class AgentRemote {
  readonly git: GitRepository;
  readonly head: string;

  constructor(dir: string, files: Readonly<Record<string, string>>) {
    this.git = new GitRepository(dir);
    this.head = this.git.commit(files);
  }

  take(run: RigRun, { commit }: PublishRequest): Settled {
    const [artifact] = run.artifacts;
    if (!artifact) return { state: 'failed', why: 'no artifact' };
    execFileSync('git', ['bundle', 'verify', '-q', artifact.path], { cwd: this.git.dir });
    const branch = run.spec.agent?.branch ?? 'none';
    this.git.git('fetch', '-q', artifact.path, `${commit}:refs/heads/${branch}`);
    return {
      state: 'pushed',
      commit,
      branch,
      pull: { number: 13, url: 'http://forge.test/pulls/13' },
      rebased: false,
    };
  }

  /** Commits of a branch that are not the head's, newest first. */
  added(branch: string): string[] {
    return this.git.git('rev-list', `${this.head}..${branch}`).split('\n').filter(Boolean);
  }

  /** Names of all files of a branch. */
  files(branch: string): string[] {
    return this.git.git('ls-tree', '-r', '--name-only', branch).split('\n');
  }
}

export function bash(command: string): ModelAnswer {
  return { call: [{ tool: 'bash', input: { command, description: 'as scripted' } }] };
}

export function verdict(word: string, comments = ''): ModelAnswer {
  return { call: [{ tool: 'StructuredOutput', input: { verdict: word, comments } } satisfies ToolCall] };
}
