import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { childFile, IN_PID_NAMESPACE, programOf } from './lock-children.ts';
import type { Cleanup } from './temp.ts';
import { until } from './until.ts';

/** A process of `children/cache-actor.ts`. */
export class CacheActor {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly #inNamespace: boolean;
  #said = '';

  constructor(
    cleanup: Cleanup,
    args: readonly string[],
    options: { pidNamespace?: boolean; prefix?: readonly string[] } = {},
  ) {
    this.#inNamespace = options.pidNamespace ?? false;
    const line = [...(options.prefix ?? []), process.execPath, childFile('cache-actor'), ...args];
    const [program = '', ...rest] = this.#inNamespace ? [...IN_PID_NAMESPACE, ...line] : line;
    this.child = spawn(program, rest, { stdio: ['pipe', 'pipe', this.#inNamespace ? 'ignore' : 'inherit'] });
    this.child.stdout?.on('data', (data: Buffer) => (this.#said += data.toString()));
    this.child.stdin?.on('error', () => {});
    this.ended = once(this.child, 'close');
    cleanup.defer(() => this.kill('SIGKILL'));
  }

  get said(): string {
    return this.#said;
  }

  async says(pattern: RegExp): Promise<void> {
    await until(`${pattern} in what it said`, () => pattern.test(this.#said));
  }

  signal(signal: NodeJS.Signals): void {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      process.kill(programOf(this.child, this.#inNamespace), signal);
    }
  }

  /** Ends it, and waits until it has ended. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal);
    await this.ended;
  }

  tell(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }
}
