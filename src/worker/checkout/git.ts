import { type CommandResult, runCommand } from '../../shared/platform/commands.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { MainThread } from '../port.ts';

export type Git = (args: readonly string[], cwd?: string) => Promise<CommandResult>;

/** Settings of every call: nothing of the checked-out tree is executed, and nothing tidies by itself. */
const SETTINGS = [
  '-c',
  'gc.auto=0',
  '-c',
  'maintenance.auto=false',
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'advice.detachedHead=false',
];

/**
 * Git as the checkout calls it: its process groups announced to the main thread, ended when the run is
 * stopped, never asking a person. HOME stays the runner's own, so its credentials work.
 */
export function gitOf(task: WorkerTask, main: MainThread): Git {
  const env = {
    ...task.baseEnv,
    HOME: task.paths.home,
    TMPDIR: task.paths.tmp,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    VOLE_JOB_MARKER: task.marker,
  };
  return (args, cwd = task.paths.tree) =>
    runCommand('git', [...SETTINGS, ...args], {
      cwd,
      env,
      signal: main.stopping,
      onSpawn: (pgid) => main.tell({ type: 'process', pgid, what: 'git' }),
      onGone: (pgid) => main.tell({ type: 'process-gone', pgid }),
    });
}

/** Whether git's words mean that the objects themselves are damaged or missing. */
export function looksCorrupt(said: string): boolean {
  return /bad object|corrupt|unable to read|missing (blob|tree|commit|object)|invalid sha1 pointer|is empty$|could not parse|inflate:|not a git repository|bad tree object|garbage at end|packfile .* (is|cannot)/im.test(
    said,
  );
}
