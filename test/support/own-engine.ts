import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { beforeEach } from 'vitest';
import { Engine } from '../../src/shared/engine/engine.ts';
import type { TestEngine } from './engine-rig.ts';
import type { Cleanup } from './temp.ts';
import { until } from './until.ts';

const DAEMON = '/usr/sbin/dockerd';

/** A docker daemon of the test's own beside the host's, to be stopped and started again. */
export class OwnEngine {
  readonly host: string;
  readonly engine: Engine;
  readonly #root: string;
  readonly #args: readonly string[];
  #daemon: ChildProcess | null = null;

  /** Skips the tests that need one where it cannot be started, or fails them where an engine is required. */
  static need(): void {
    beforeEach((context) => {
      if (existsSync(DAEMON) && process.getuid?.() === 0) return;
      const why = `no container engine of the test's own: ${DAEMON} is not there, or this is not root`;
      if (process.env['VOLE_TEST_ENGINE']) throw new Error(why);
      context.skip(why);
    });
  }

  private constructor(root: string, args: readonly string[]) {
    this.#root = root;
    this.#args = args;
    this.host = `unix://${path.join(root, 'e.sock')}`;
    const env = { PATH: process.env['PATH'] ?? '', HOME: root, DOCKER_HOST: this.host };
    this.engine = new Engine({ name: 'docker', env });
  }

  /** Running, with the busybox image in it. */
  static async start(cleanup: Cleanup, from: TestEngine, args: readonly string[] = []): Promise<OwnEngine> {
    const own = new OwnEngine(cleanup.tempDir('ve-'), args);
    cleanup.defer(() => own.#close());
    await own.start();
    const archive = path.join(own.#root, 'image.tar');
    await from.call('save', '--output', archive, from.image);
    const loaded = await own.engine.call(['load', '--input', archive]);
    if (!loaded.ok) throw new Error(loaded.failure.why);
    return own;
  }

  async start(): Promise<void> {
    const at = (name: string): string => path.join(this.#root, name);
    mkdirSync(at('data'), { recursive: true });
    const log = openSync(at('log'), 'a');
    const places = ['--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid')];
    const network = ['--host', this.host, '--bridge', 'none', '--iptables=false', '--ip6tables=false'];
    // In a network namespace of its own: two daemons in one fight over the bridge.
    const command = ['--net', DAEMON, ...places, ...network, ...this.#args];
    this.#daemon = spawn('unshare', command, {
      stdio: ['ignore', log, log],
      detached: true,
    });
    await until('the test’s own engine to answer', async () => (await this.engine.ping()).ok, 60_000);
  }

  /** Ends the daemon alone: what it runs is by others that it started. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exited = once(daemon, 'exit');
    daemon.kill(signal);
    await exited;
  }

  async #close(): Promise<void> {
    // What a killed daemon left is ended by the next one.
    if (this.#daemon?.signalCode === 'SIGKILL') await this.start();
    const left = await this.engine.call(['ps', '--all', '--quiet']);
    if (left.ok && left.value) await this.engine.call(['rm', '--force', ...left.value.split('\n')]);
    await this.end('SIGTERM');
    for (const mount of execFileSync('cat', ['/proc/mounts'], { encoding: 'utf8' })
      .split('\n')
      .toReversed()) {
      const place = mount.split(' ')[1] ?? '';
      if (place.startsWith(this.#root)) execFileSync('umount', ['--lazy', place]);
    }
  }
}
