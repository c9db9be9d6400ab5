import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';

/** Runs the install scripts, so that what they install is there for the agent. Null where all is well. */
export async function prepareTools(
  task: WorkerTask,
  _main: MainThread,
  _log: RunLog,
): Promise<PartFailure | null> {
  const scripts = task.agent?.installScripts ?? [];
  if (scripts.length === 0) return null;
  return { reason: 'agent-tools', why: `install scripts cannot be run yet: ${scripts.join(', ')}` };
}
