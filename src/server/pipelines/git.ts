import { VoleError } from '../../shared/errors.ts';
import { gitEnvOf } from '../../shared/git-env.ts';
import { runCommand } from '../../shared/platform/commands.ts';
import { withoutPasswords } from '../../shared/without-passwords.ts';

export interface GitReply {
  readonly ok: boolean;
  readonly stdout: string;
  /** The last line that says something, for people; empty where it went well. */
  readonly why: string;
  readonly stderr: string;
}

/** Runs git in one directory. Injected, so that what asks it can be tested on what it says. */
export type Git = (
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly timeoutMs: number;
    readonly maxBytes?: number;
    readonly signal?: AbortSignal;
    readonly input?: string;
    /** Beside what all get. */
    readonly env?: Readonly<Record<string, string>>;
  },
) => Promise<GitReply>;

const SETTINGS = ['-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'core.quotePath=false'];
const ENV = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o ConnectTimeout=30',
  GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
  LC_ALL: 'C',
};

/** The server's own git: asks nobody for a password, and runs no program that a clone URL names. */
export function gitWith(env: Readonly<Record<string, string | undefined>>): Git {
  const whole = { PATH: '/usr/local/bin:/usr/bin:/bin', ...gitEnvOf(env), ...ENV };
  return async (args, { cwd, timeoutMs, maxBytes = 1024 * 1024, signal, input, env: more = {} }) => {
    const options = {
      cwd,
      timeoutMs,
      maxOutputBytes: maxBytes,
      env: { ...whole, ...more },
      signal,
      ...(input === undefined ? {} : { input }),
    };
    const result = await runCommand('git', [...SETTINGS, ...args], options);
    if (result.missing) throw new VoleError('missing-tool', 'git is not on this host, or not in PATH');
    const said = result.timedOut || result.aborted ? '' : complaintOf(result.stderr);
    const { ok, stdout, stderr } = result;
    return { ok, stdout, stderr, why: ok ? '' : said || result.why };
  };
}

/**
 * Git's own complaint: the first `fatal:` or `error:` line, else the last one. Passwords in URLs are
 * taken out, since the line is shown to people and kept.
 */
export function complaintOf(stderr: string): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const line = lines.find((line) => /^(?:fatal|error|remote: error): /i.test(line)) ?? lines.at(-1) ?? '';
  return withoutPasswords(line.replace(/^(?:fatal|error): /i, '')).slice(0, 300);
}
