import { INSIDE } from '../../shared/engine/job-container.ts';

/**
 * What vole runs inside a job's container. All of it is for the image's `/bin/sh`, whichever shell that
 * is, and needs no other program than `sleep`, `cat`, and for other users' files `chown`
 * and `ls`.
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
  // Said by hand, since the words of shells differ.
  'cd -- "$1" 2>/dev/null || { echo "vole: $1 is not there" >&2; exit 126; }',
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

/**
 * Gives the job's folders to the user that its steps run as, `$1`. What is in the cache is that user's
 * from earlier jobs, unless the operator has chosen another meanwhile.
 */
export const HAND_OVER = `
chown -R -h -- "$1" ${INSIDE.workspace} ${INSIDE.tmp}
chown -h -- "$1" ${INSIDE.cache}
for entry in ${INSIDE.cache}/*; do
  before=$(ls -ldn "$entry" 2>&1)
  chown -h -- "$1" "$entry"
  [ "$before" = "$(ls -ldn "$entry" 2>&1)" ] || chown -R -h -- "$1" ${INSIDE.cache}
  break
done
:`;

/**
 * Gives the workspace to the runner's user, who owns the folder of the scripts whatever its number is in
 * here. The cache's own folder too, so that it can be moved away: where the steps run as root, which no
 * sibling that uses it minds.
 */
export const HAND_BACK = `
set -- "$1" $(ls -ldn ${INSIDE.steps})
chown -R -h -- "$4:$5" ${INSIDE.workspace} ${INSIDE.tmp}
[ "$1" != root ] || chown -h -- "$4:$5" ${INSIDE.cache}
:`;

/** The kernel's count, where the host does not show it: v2, then v1. */
export const MEMORY_EVENTS =
  'cat /sys/fs/cgroup/memory.events 2>/dev/null || cat /sys/fs/cgroup/memory/memory.oom_control';
