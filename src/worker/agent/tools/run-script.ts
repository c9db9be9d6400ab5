import { type CommandResult, runCommand } from '../../../shared/platform/commands.ts';
import { groupMembers } from '../../../shared/platform/processes.ts';
import { formatDuration } from '../../../shared/units.ts';
import type { WorkerTask } from '../../../shared/worker-messages.ts';
import { ClientOutput } from '../../container/client-output.ts';
import type { RunLog } from '../../log/run-log.ts';
import type { MainThread } from '../../port.ts';
import { StepProcesses } from '../../steps/leftovers.ts';
import { tailOf } from './plan.ts';

export interface ScriptRun {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface ScriptEnd {
  /** One line with the end of what it said, secrets taken out; null where it succeeded. */
  readonly failure: string | null;
  /** False where something of it withstands KILL. */
  readonly gone: boolean;
}

/**
 * Runs one script to the end of its last process: what it leaves running is ended, in its group or out of it.
 * Stopped with the run, or by its timeout: TERM to its group, KILL two seconds after.
 */
export async function runScript(
  script: ScriptRun,
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
): Promise<ScriptEnd> {
  const output = new ClientOutput({ log });
  let processes: StepProcesses | null = null;
  let pgid = 0;
  const result = await runCommand(script.file, script.args, {
    cwd: task.paths.tmp,
    env: script.env,
    signal: main.stopping,
    timeoutMs: Math.min(script.timeoutMs, 2 ** 31 - 1),
    onOutput: (bytes, from) => output.push(bytes, from),
    onSpawn: (group) => {
      pgid = group;
      main.tell({ type: 'process', pgid, what: `install script ${script.name}` });
      processes = new StepProcesses(pgid, task.cgroup, task.marker, () =>
        main.tell({ type: 'cgroup-joined' }),
      );
    },
  });
  const found = processes as StepProcesses | null;
  for (const line of (await found?.endLeftovers()) ?? []) log.say(0, line);
  const gone = pgid === 0 || groupMembers(pgid).length === 0;
  if (pgid !== 0 && gone) main.tell({ type: 'process-gone', pgid });
  const said = tailOf(log.mask(output.end()));
  if (result.ok) return { failure: null, gone };
  const how = howItEnded(script, result);
  return { failure: `install script ${script.name} ${how}${said ? `: ${said}` : ''}`, gone };
}

function howItEnded(script: ScriptRun, result: CommandResult): string {
  if (result.timedOut) return `took longer than ${formatDuration(script.timeoutMs)} and was ended`;
  if (result.aborted) return 'was ended with the run';
  if (result.missing) return `cannot be started: ${script.file} is not on this host`;
  return result.signal ? `was ended by ${result.signal}` : `failed with exit ${result.exitCode ?? '?'}`;
}
