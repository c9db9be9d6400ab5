import { runCommand } from '../../shared/platform/commands.ts';

export interface GitReply {
  readonly ok: boolean;
  readonly stdout: string;
  /** The last line that says something, for people; empty where it went well. */
  readonly why: string;
}

/** Runs git in one directory. Injected, so that what asks it can be tested on what it says. */
export type Git = (
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly timeoutMs: number;
    readonly maxBytes?: number;
    readonly signal?: AbortSignal;
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

/**
 * The server's own git: asks nobody for a password, runs no program that a clone URL names, and
 * knows nothing of the configuration of a repository that the server might stand in.
 */
export const git: Git = async (args, { cwd, timeoutMs, maxBytes = 1024 * 1024, signal }) => {
  const result = await runCommand('git', [...SETTINGS, ...args], {
    cwd,
    timeoutMs,
    maxOutputBytes: maxBytes,
    env: ENV,
    ...(signal === undefined ? {} : { signal }),
  });
  const ok = result.exitCode === 0;
  return { ok, stdout: result.stdout, why: ok ? '' : complaintOf(result.stderr) || result.message };
};

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

export function withoutPasswords(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/@\s]*@/gi, '$1');
}
