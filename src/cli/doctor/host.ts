import { counted } from '../../shared/counted.ts';
import { openFilesAmple, openFilesNeeded } from '../../shared/platform/open-files.ts';
import { formatBytes } from '../../shared/units.ts';
import { type Check, missing, ok, warn } from './check.ts';

export function judgeProc(readable: boolean): Check {
  if (readable) return ok('/proc', 'mounted');
  return missing(
    '/proc',
    'not readable',
    'Mount it: without it nobody knows which processes of a job still live.',
  );
}

/** `made` is whether a cgroup with `cgroup.kill` could be made below our own, null where there is no v2 tree. */
export function judgeCgroup(own: string | null, made: boolean | null): Check {
  const name = 'cgroup v2';
  const effect = 'A process that leaves its group by setsid is then searched for, and may outlive its job.';
  if (own === null)
    return warn(name, 'no v2 tree is mounted', `${effect} Boot with systemd.unified_cgroup_hierarchy=1.`);
  if (made) return ok(name, `may make cgroups below ${own}`);
  const remedy = `${effect} Set Delegate=yes in the service (packaging/vole-runner.service has it); cgroup.kill needs Linux 5.14.`;
  return warn(name, `none may be made below ${own}, or it lacks cgroup.kill`, remedy);
}

/** All worker threads share libuv's pool; a pool too small makes heartbeats wait for file work of jobs. */
export function judgeThreadPool(size: number | null, jobs: number): Check {
  const name = 'libuv threads';
  const wanted = Math.min(128, Math.max(4, jobs + 4));
  if (size !== null && size >= wanted) return ok(name, `${size} for ${counted(jobs, 'job')}`);
  const found =
    size === null
      ? 'UV_THREADPOOL_SIZE is not set'
      : `UV_THREADPOOL_SIZE=${size} for ${counted(jobs, 'job')}`;
  return warn(
    name,
    found,
    `Unset UV_THREADPOOL_SIZE (bin/vole.cjs sizes it), or set it to at least ${wanted}.`,
  );
}

export function judgeOpenFiles(limit: number | null, jobs: number): Check {
  const name = 'open files';
  const ample = openFilesAmple(jobs);
  if (limit === null || limit >= ample) return ok(name, limit === null ? 'no limit' : `limit ${limit}`);
  const found = `limit ${limit} for ${counted(jobs, 'job')}`;
  const remedy = `Raise it to ${ample}: \`ulimit -n\`, or LimitNOFILE= in the service`;
  if (limit < openFilesNeeded(jobs))
    return missing(name, found, `Without it the runner does not start: ${remedy}.`);
  return warn(name, found, `${remedy}.`);
}

export function judgeUser(uid: number): Check {
  if (uid !== 0) return ok('user', `uid ${uid}`);
  const remedy =
    'Jobs run on the host as the runner’s user, so as root here: give the runner a user of its own.';
  return warn('user', 'root', remedy);
}

/** Jobs that mostly wait share a core well; more of those that compile than this only take longer. */
const MOST_JOBS_A_CORE = 4;

export function judgeCores(cores: number, memoryBytes: number, jobs: number): Check {
  const host = `${counted(cores, 'core')}, ${formatBytes(memoryBytes)} for ${counted(jobs, 'job')}`;
  const share = Number((cores / jobs).toFixed(2));
  const each = `${share} ${share === 1 ? 'core' : 'cores'} and ${formatBytes(memoryBytes / jobs)} each`;
  const most = MOST_JOBS_A_CORE * cores;
  const found =
    jobs === 1 ? host : `${host}: ${each} while all are busy; more than ${most} jobs is a warning`;
  if (jobs <= most) return ok('cores', found);
  return warn(
    'cores',
    found,
    'More than four jobs a core: each takes N times longer. Lower --jobs, or use `cpus:`.',
  );
}
