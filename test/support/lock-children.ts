import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** A question to `children/lock-holder.ts`; `as` names what is held, waited for or ended. */
export interface HolderAsk {
  readonly id: number;
  readonly what: 'try' | 'wait' | 'abort' | 'release' | 'block' | 'throw' | 'exit' | 'terminate';
  readonly name?: string;
  readonly mode?: 'shared' | 'exclusive';
  readonly ms?: number;
  readonly as?: string;
  readonly thread?: string | undefined;
}

export interface HolderAnswer {
  readonly id: number;
  readonly result: 'granted' | 'refused' | 'aborted' | 'done';
}

export function childFile(name: string): string {
  return path.resolve(import.meta.dirname, `../../dist/test/${name}.js`);
}

/** Whether this user may make pid namespaces, as the tests of containers need. */
export const IN_PID_NAMESPACE = ['unshare', '-pf', '--mount-proc', '--kill-child'] as const;

/** Of what `unshare` started, seen from here; of the child itself where there is no namespace between. */
export function programOf(child: ChildProcess, inNamespace: boolean): number {
  const pid = child.pid ?? 0;
  if (!inNamespace) return pid;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
  return Number(children.trim().split(' ')[0]);
}

/** A process that holds guards as a test says. */
class LockHolder {
  readonly child: ChildProcess;
  readonly #asked = new Map<number, (answer: HolderAnswer) => void>();
  #nextId = 1;
  readonly ready: Promise<unknown>;

  readonly #inNamespace: boolean;

  constructor(locks: string, options: { pidNamespace?: boolean } = {}) {
    this.#inNamespace = options.pidNamespace ?? false;
    const line = [process.execPath, childFile('lock-holder'), locks];
    const [program = '', ...args] = options.pidNamespace ? [...IN_PID_NAMESPACE, ...line] : line;
    this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    this.child.stdin?.on('error', () => {});
    this.ready = new Promise((resolve) => this.#asked.set(0, resolve));
    const lines = createInterface({ input: this.child.stdout as NodeJS.ReadableStream });
    lines.on('line', (text) => {
      const answer = JSON.parse(text) as HolderAnswer;
      this.#asked.get(answer.id)?.(answer);
      this.#asked.delete(answer.id);
    });
  }

  async ask(question: Omit<HolderAsk, 'id'>): Promise<HolderAnswer['result']> {
    const id = this.#nextId++;
    const { result } = await new Promise<HolderAnswer>((resolve) => {
      this.#asked.set(id, resolve);
      this.child.stdin?.write(`${JSON.stringify({ id, ...question })}\n`);
    });
    return result;
  }

  /** For what gives no answer. */
  tell(question: Omit<HolderAsk, 'id'>): void {
    this.child.stdin?.write(`${JSON.stringify({ id: -1, ...question })}\n`);
  }

  /** Signals the program itself, also where it is process 1 of a namespace of its own. */
  kill(signal: NodeJS.Signals): void {
    const pid = programOf(this.child, this.#inNamespace);
    if (pid) process.kill(pid, signal);
  }

  async destroy(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.kill('SIGCONT');
    this.kill('SIGKILL');
    await ended;
  }
}
