import { type CommandResult, runCommand } from '../platform/commands.ts';
import { failureOf } from './failure.ts';
import type { EngineFacts, EngineName, EngineReply } from './types.ts';

export interface EngineCallOptions {
  /** Default 60 s. A client that takes longer is ended. */
  readonly timeoutMs?: number;
  /** Ends the client. The engine may still do what it was asked: not for what makes something. */
  readonly signal?: AbortSignal;
  /** Standard input, such as an environment: what may stand on no command line. */
  readonly input?: string;
  /**
   * The job's marker, so that whoever ends what a dead runner left finds this client, and waits for what
   * it is just making before looking for it.
   */
  readonly marker?: string;
  /** The job's marker where the client is to end with the job, as its other processes do. */
  readonly endWith?: string;
  /** See `CommandOptions.onOutput`. */
  readonly onOutput?: (bytes: Buffer, from: 'stdout' | 'stderr') => void;
  readonly onSpawn?: (pgid: number) => void;
  readonly onGone?: (pgid: number) => void;
}

/** Variable of an engine's client that works for a job; its value is the job's marker. */
export const CLIENT_MARKER_ENV = 'VOLE_ENGINE_CLIENT';

const CALL_MS = 60_000;
const PING_MS = 15_000;

/**
 * The engine as a command line that docker and podman both take. Failures are values. Works in any
 * thread; holds nothing.
 */
export class Engine {
  readonly #facts: EngineFacts;

  constructor(facts: EngineFacts) {
    this.#facts = facts;
  }

  get name(): EngineName {
    return this.#facts.name;
  }

  /** The environment of its client, see `EngineFacts`. */
  get env(): Readonly<Record<string, string>> {
    return this.#facts.env;
  }

  /** Runs `docker ARGS`; its standard output, without the last newline. No secret may stand in `args`. */
  async call(args: readonly string[], options: EngineCallOptions = {}): Promise<EngineReply<string>> {
    const result = await this.callRaw(args, options);
    if (result.ok) return { ok: true, value: result.stdout.replace(/\n$/, '') };
    return { ok: false, failure: failureOf(this.name, result) };
  }

  /** The same, for whoever needs the exit code. */
  async callRaw(args: readonly string[], options: EngineCallOptions = {}): Promise<CommandResult> {
    const { marker, endWith, timeoutMs = CALL_MS, ...rest } = options;
    const env = {
      ...this.env,
      ...(marker === undefined ? {} : { [CLIENT_MARKER_ENV]: marker }),
      ...(endWith === undefined ? {} : { VOLE_JOB_MARKER: endWith }),
    };
    // Its own directory may be gone, and where a client stands means nothing to it.
    return await runCommand(this.name, args, { ...rest, cwd: '/', env, timeoutMs });
  }

  /** Whether it answers, and takes us. */
  async ping(): Promise<EngineReply<null>> {
    const listed = await this.call(['ps', '--quiet', '--filter', 'label=vole.ping'], { timeoutMs: PING_MS });
    return listed.ok ? { ok: true, value: null } : listed;
  }
}
