/**
 * What vole runs inside a job's container. All of it is for the image's `/bin/sh`, whichever shell that
 * is, and needs no other program than `sleep` and `cat`.
 */

/** An argument list that no step's process has by chance. */
export const IDLE_COMMAND = 'sleep 86399';

/**
 * The container's main process: it waits, and reaps what the steps leave to it. TERM does not end it,
 * which is as it should be: the steps are signalled, and the container is removed.
 */
export const MAIN_PROCESS = ['/bin/sh', '-c', `while :; do ${IDLE_COMMAND} & wait; done`] as const;

/**
 * Becomes the step. Its environment comes by standard input, so that it stands on no command line and
 * passes through no client. `$1` is the directory below the workspace, the rest the shell and its script.
 */
export const STEP_WRAPPER = [
  'case ${HOME:-/} in /) export HOME=/tmp ;; esac',
  'eval "$(cat)"',
  'cd -- "$1" || exit 126',
  'shift',
  'exec "$@" </dev/null',
].join('\n');

/** Signals everything in the container but its main process, which the kernel spares, and itself. */
export function signalAllScript(signal: 'TERM' | 'KILL'): string {
  return `kill -${signal} -1 || :`;
}

/** Names that some shells hold as read-only: to set one there would end the wrapper. */
const READ_ONLY = new Set(['UID', 'EUID', 'PPID', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO']);

/** Text that a shell makes exactly these variables of. */
export function exportsOf(env: Readonly<Record<string, string>>): string {
  const lines = Object.entries(env).map(([name, value]) => {
    const set = `export ${name}=${quoted(value)}`;
    return READ_ONLY.has(name) ? `if (${set}) 2>/dev/null; then ${set}; fi` : set;
  });
  return `${lines.join('\n')}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
