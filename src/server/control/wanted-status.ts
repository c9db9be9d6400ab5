import type { RunState } from '../../shared/outcome.ts';
import type { CommitState, CommitStatus } from '../forges/client.ts';
import type { Run } from '../store/store.ts';

const PREFIX = 'vole';
/** What all forges show whole. */
const DESCRIPTION_LENGTH = 140;

const STATES: Readonly<Record<RunState, CommitState>> = {
  received: 'pending',
  queued: 'pending',
  running: 'pending',
  passed: 'success',
  failed: 'failure',
  'timed-out': 'failure',
  cancelled: 'error',
  refused: 'error',
  lost: 'error',
};

/** One context for each job of the workflow file, and one for the file itself, whose `key` is empty. */
export function contextOf(key: string): string {
  return key === '' ? PREFIX : `${PREFIX}/${key}`;
}

export type StatusRun = Pick<Run, 'id' | 'key' | 'state' | 'detail' | 'startedAt' | 'endedAt'>;

/** The status that a job's latest run wants. `hide` takes secrets out. */
export function statusOfRun(run: StatusRun, publicUrl: string, hide: (text: string) => string): CommitStatus {
  return {
    context: contextOf(run.key),
    state: STATES[run.state],
    description: bounded(hide(describe(run))),
    url: `${publicUrl}/runs/${run.id}`,
  };
}

export function statusOfFault(
  fault: string,
  pipeline: number,
  publicUrl: string,
  hide: (text: string) => string,
): CommitStatus {
  const first = fault.split('\n', 1)[0] ?? '';
  return {
    context: contextOf(''),
    state: 'failure',
    description: bounded(hide(first)),
    url: `${publicUrl}/pipelines/${pipeline}`,
  };
}

export function sameStatus(a: CommitStatus, b: CommitStatus): boolean {
  return a.context === b.context && a.state === b.state && a.description === b.description && a.url === b.url;
}

function describe(run: StatusRun): string {
  if (run.state === 'passed') return `passed${duration(run)}`;
  return run.detail === '' ? run.state : `${run.state}: ${run.detail}`;
}

function duration({ startedAt, endedAt }: StatusRun): string {
  if (startedAt === null || endedAt === null) return '';
  const seconds = Math.max(0, Math.round((endedAt - startedAt) / 1000));
  return seconds < 90 ? ` in ${seconds} s` : ` in ${Math.round(seconds / 60)} min`;
}

function bounded(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > DESCRIPTION_LENGTH ? `${line.slice(0, DESCRIPTION_LENGTH - 1)}…` : line;
}
