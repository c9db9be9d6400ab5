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
 * stopped, never asking a person (ssh has no terminal in a session of its own). HOME, agent and proxies are
 * the runner's own, so its credentials and its ssh settings work. `more`: beside that environment.
 */
export function gitOf(task: WorkerTask, main: MainThread, more: Readonly<Record<string, string>> = {}): Git {
  const env = {
    ...task.gitEnv,
    ...task.baseEnv,
    HOME: task.paths.home,
    TMPDIR: task.paths.tmp,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    VOLE_JOB_MARKER: task.marker,
    ...more,
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

/** Without the settings of a person or the host, which may convert files on their way into the tree. */
export const NO_SETTINGS = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
};

const CORRUPT = [
  /bad (tree )?object/i,
  /corrupt/i,
  /unable to read/i,
  /missing (blob|tree|commit|object)/i,
  /invalid sha1 pointer/i,
  /object file .* is empty/i,
  /could not parse/i,
  /inflate:/i,
  /garbage at end/i,
  /packfile .* (is|cannot)/i,
  /not a git repository/i,
  // Its own settings; those of a person have another path.
  /bad config line \d+ in file (\.\/)?config\b/i,
];

/** Whether git's words mean that the saved checkout itself is damaged or has parts missing. */
export function looksCorrupt(said: string): boolean {
  return CORRUPT.some((pattern) => pattern.test(said));
}
