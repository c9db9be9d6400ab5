import { execa } from 'execa';
import { signalGroup } from './processes.ts';

export interface CommandOptions {
  readonly cwd?: string;
  /** The whole environment: nothing is inherited. Left out, the caller's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Of each of standard output and error; past it the command is ended. 16 MiB by default. */
  readonly maxOutputBytes?: number;
  readonly input?: string;
  /** Output as it comes; the result then has no more than its last 64 KiB, and there is no bound. */
  readonly onOutput?: (bytes: Buffer, from: 'stdout' | 'stderr') => void;
  /** The process group exists; called before anything else happens. */
  readonly onSpawn?: (pgid: number) => void;
  readonly onGone?: (pgid: number) => void;
}

/** How a command ended. Nothing expected is thrown. */
export interface CommandResult {
  readonly ok: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The program is not on this host. */
  readonly missing: boolean;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** One line for people; empty where it went well. */
  readonly why: string;
}

const GRACE_MS = 2000;
/** After its end: how long a daemon that it left may hold its output open. */
const HELD_MS = 1000;
const OUTPUT_BYTES = 16 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;

/**
 * Runs a command whose output we want, in a process group of its own that is ended whole: execa alone
 * would end the leader and then wait for its children's pipes.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  if (options.signal?.aborted) return notStarted(file);
  const running = execa(file, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env, extendEnv: false }),
    ...(options.input === undefined ? { stdin: 'ignore' as const } : { input: options.input }),
    maxBuffer: options.maxOutputBytes ?? OUTPUT_BYTES,
    buffer: options.onOutput === undefined,
    detached: true,
    reject: false,
    stripFinalNewline: false,
  });
  const pgid = running.pid;
  const tails = options.onOutput && { stdout: new Tail(), stderr: new Tail() };
  for (const from of ['stdout', 'stderr'] as const) {
    if (!tails) break;
    running[from].on('data', (bytes: Buffer) => {
      tails[from].push(bytes);
      options.onOutput?.(bytes, from);
    });
  }
  let stopped: 'timed-out' | 'aborted' | null = null;
  let killing: NodeJS.Timeout | undefined;
  const stop = (why: 'timed-out' | 'aborted'): void => {
    if (stopped || pgid === undefined) return;
    stopped = why;
    signalGroup(pgid, 'SIGTERM');
    killing = setTimeout(() => signalGroup(pgid, 'SIGKILL'), GRACE_MS);
  };
  if (pgid !== undefined) options.onSpawn?.(pgid);
  const onAbort = (): void => stop('aborted');
  options.signal?.addEventListener('abort', onAbort);
  const timer = options.timeoutMs && setTimeout(() => stop('timed-out'), options.timeoutMs);
  let held: NodeJS.Timeout | undefined;
  running.once('exit', () => {
    held = setTimeout(() => {
      running.stdout.destroy();
      running.stderr.destroy();
    }, HELD_MS);
  });
  const result = await running;
  clearTimeout(held);
  options.signal?.removeEventListener('abort', onAbort);
  if (timer) clearTimeout(timer);
  clearTimeout(killing);
  if (pgid !== undefined) {
    // What it left in its group holds nothing that we still want.
    if (stopped || result.failed) signalGroup(pgid, 'SIGKILL');
    options.onGone?.(pgid);
  }
  const stdout = tails ? tails.stdout.text : (result.stdout ?? '');
  const stderr = tails ? tails.stderr.text : (result.stderr ?? '');
  const missing =
    (result.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' && pgid === undefined;
  return {
    ok: !result.failed,
    exitCode: result.exitCode ?? null,
    signal: result.signal ?? null,
    stdout,
    stderr,
    missing,
    timedOut: stopped === 'timed-out',
    aborted: stopped === 'aborted',
    why: result.failed ? reason(file, stopped, result, stderr, missing) : '',
  };
}

function reason(
  file: string,
  stopped: 'timed-out' | 'aborted' | null,
  result: { exitCode?: number | undefined; signal?: string | undefined; isMaxBuffer: boolean },
  stderr: string,
  missing: boolean,
): string {
  if (missing) return `${file} is not there, or its working directory is not`;
  if (stopped === 'timed-out') return `${file} took too long and was ended`;
  if (stopped === 'aborted') return `${file} was ended`;
  if (result.isMaxBuffer) return `${file} printed too much`;
  const said = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .slice(-3)
    .join('; ');
  const how = result.signal ? `was ended by ${result.signal}` : `exit ${result.exitCode ?? '?'}`;
  return said ? `${said} (${how})` : `${file}: ${how}`;
}

/** The end of what was pushed, in no more than twice its room. */
class Tail {
  #bytes: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): void {
    const all = Buffer.concat([this.#bytes, bytes]);
    this.#bytes = all.length > 2 * TAIL_BYTES ? all.subarray(-TAIL_BYTES) : all;
  }

  get text(): string {
    return this.#bytes.subarray(-TAIL_BYTES).toString('utf8');
  }
}

function notStarted(file: string): CommandResult {
  return {
    ok: false,
    exitCode: null,
    signal: null,
    stdout: '',
    stderr: '',
    missing: false,
    timedOut: false,
    aborted: true,
    why: `${file} was not started`,
  };
}
