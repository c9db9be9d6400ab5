import net from 'node:net';
import { readJsonLines } from '../../shared/json-lines.ts';
import type { Spawned, StepExit } from '../../shared/platform/step-process.ts';
import type { SpawnAnswer, SpawnRequest } from '../../shared/spawn-messages.ts';

type Waiting = {
  spawned: (answer: Spawned | null) => void;
  exited: (exit: StepExit) => void;
  begun: boolean;
};

/** A step whose spawner ended can only be told to have been ended too: its group is killed next. */
const LOST: StepExit = { exitCode: null, signal: 'SIGKILL' };
const KILLED: Spawned = { ok: false, why: 'the process that starts the steps was killed' };

/** A thread's connection to the spawner, for one run after the other. */
export class SpawnerClient {
  readonly #socket: net.Socket;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #connected = false;
  #ended = false;

  constructor(path: string) {
    this.#socket = net.connect(path, () => {
      this.#connected = true;
    });
    this.#socket.on('error', () => {}); // close follows
    this.#socket.on('close', () => this.#lost());
    readJsonLines(this.#socket, (answer) => this.#receive(answer as SpawnAnswer));
  }

  /** Null where the spawner has certainly not done it: then the caller spawns by itself. See `ended`. */
  async spawn(request: Omit<SpawnRequest, 'id'>): Promise<Spawned | null> {
    if (this.#socket.destroyed) return null;
    const id = this.#nextId++;
    let exited: (exit: StepExit) => void = () => {};
    const exit = new Promise<StepExit>((resolve) => {
      exited = resolve;
    });
    const answer = await new Promise<Spawned | null>((spawned) => {
      this.#waiting.set(id, { spawned, exited, begun: false });
      this.#socket.write(`${JSON.stringify({ ...request, id })}\n`);
    });
    return answer?.ok ? { ...answer, exited: exit } : answer;
  }

  /** Keeps the thread from being idle until `unuse`. */
  use(): void {
    this.#socket.ref();
  }

  unuse(): void {
    this.#socket.unref();
  }

  get closed(): boolean {
    return this.#socket.destroyed;
  }

  /** The spawner ended while we needed it: what it has started, and whether it has, nobody knows any more. */
  get ended(): boolean {
    return this.#ended;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(answer: SpawnAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    if (!waiting) return;
    switch (answer.what) {
      case 'spawned':
        waiting.begun = true;
        // The exit is put in by `spawn`, which holds its promise.
        return waiting.spawned({ ok: true, pgid: answer.pgid, exited: Promise.resolve(LOST) });
      case 'refused':
        this.#waiting.delete(answer.id);
        return waiting.spawned({ ok: false, why: answer.why });
      case 'unable':
        this.#waiting.delete(answer.id);
        return waiting.spawned(null);
      case 'exited':
        this.#waiting.delete(answer.id);
        return waiting.exited(exitOf(answer));
      default:
        return answer satisfies never;
    }
  }

  #lost(): void {
    this.#ended = this.#connected && this.#waiting.size > 0;
    for (const waiting of this.#waiting.values()) {
      if (waiting.begun) waiting.exited(LOST);
      else waiting.spawned(this.#connected ? KILLED : null);
    }
    this.#waiting.clear();
  }
}

function exitOf({ exitCode, signal }: { exitCode: number | null; signal: NodeJS.Signals | null }): StepExit {
  return signal === null ? { exitCode: exitCode ?? 0, signal: null } : { exitCode: null, signal };
}
