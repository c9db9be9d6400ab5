import { constants } from 'node:fs';
import { access, mkdtemp, readFile, rm, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { hostKind, missingPackage, OPENCODE_VERSION } from '../../runner/agent/opencode-binary.ts';
import { oneLine } from '../../shared/errors.ts';
import { killCgroup, makeCgroup, ownCgroup, removeCgroup } from '../../shared/platform/cgroup.ts';
import { openFilesLimit } from '../../shared/platform/open-files.ts';
import { processStat } from '../../shared/platform/processes.ts';
import type { Environment } from '../../shared/settings/resolve.ts';
import type { Settings } from '../../shared/settings/types.ts';
import { engineEnv } from '../runner/runner-options.ts';
import { packageRoot } from '../version.ts';
import type { Check } from './check.ts';
import { judgeDirectory, judgeFileSystem, judgeLocks, judgeSpace, mountOptionsOf } from './directory.ts';
import { engineChecks } from './engine.ts';
import { judgeCgroup, judgeCores, judgeOpenFiles, judgeProc, judgeThreadPool, judgeUser } from './host.ts';
import { probe } from './probe.ts';
import {
  judgeAddon,
  judgeAgent,
  judgeGit,
  judgeMkfifo,
  judgeNode,
  judgeShell,
  judgeSshKeygen,
  judgeSystemd,
} from './programs.ts';

/** Looks at this host; makes an empty cgroup and a folder with a lock file, and removes both. */
export async function gatherChecks(settings: Settings<'doctor'>, env: Environment): Promise<Check[]> {
  return [
    ...(await programChecks()),
    ...(await hostChecks(settings.jobs, env)),
    ...(await dirChecks(settings)),
    ...(await engineChecks(settings.engine, settings.dir, engineEnv({ env }))),
  ];
}

async function programChecks(): Promise<Check[]> {
  const [git, sh, bash, mkfifo, keygen, systemd, database, locks] = await Promise.all([
    probe('git', ['--version']),
    probe('sh', ['-c', 'exit 0']),
    probe('bash', ['--version']),
    probe('mkfifo', ['--version']),
    probe('ssh-keygen', ['-?']),
    probe('systemctl', ['--version']),
    probeAddon('new (require(process.argv[1]))(":memory:").close()', 'better-sqlite3'),
    probeAddon('require(process.argv[1])', 'fs-native-extensions'),
  ]);
  const booted = await access('/run/systemd/system').then(
    () => true,
    () => false,
  );
  const cpuInfo = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  return [
    judgeNode(process.version),
    judgeAddon('better-sqlite3', 'The server’s database needs it', database),
    judgeAddon('fs-native-extensions', 'The locks need it', locks),
    judgeGit(git),
    judgeShell('sh', sh),
    judgeShell('bash', bash),
    judgeMkfifo(mkfifo),
    judgeSshKeygen(keygen),
    judgeSystemd(systemd, booted),
    judgeAgent(OPENCODE_VERSION, missingPackage(hostKind(process.arch, cpuInfo))),
  ];
}

/** In a process of its own: an addon built for another Node may take its process down. */
function probeAddon(script: string, name: string) {
  return probe(process.execPath, ['-e', script, name], { cwd: packageRoot() });
}

async function hostChecks(jobs: number, env: Environment): Promise<Check[]> {
  const own = ownCgroup();
  const size = Number(env['UV_THREADPOOL_SIZE']);
  return [
    judgeProc(processStat(process.pid) !== null),
    judgeCgroup(own, own === null ? null : tryCgroup(own)),
    judgeThreadPool(Number.isInteger(size) && size > 0 ? size : null, jobs),
    judgeOpenFiles(openFilesLimit(), jobs),
    judgeCores(os.availableParallelism(), os.totalmem(), jobs),
    judgeUser(process.getuid?.() ?? -1),
  ];
}

function tryCgroup(own: string): boolean {
  const made = makeCgroup(own, `vole-doctor-${process.pid}`);
  if (made === null) return false;
  const killed = killCgroup(made);
  return removeCgroup(made) && killed;
}

async function dirChecks({ dir, minFree }: Settings<'doctor'>): Promise<Check[]> {
  if (dir === null) return [];
  const parent = await nearestThere(dir);
  const writable = await access(parent, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  const stats = await statfs(parent);
  const mountinfo = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const space = {
    totalBytes: stats.blocks * stats.bsize,
    freeBytes: stats.bavail * stats.bsize,
    totalFiles: stats.files,
    freeFiles: stats.ffree,
  };
  return [
    judgeDirectory(dir, { exists: parent === dir, writable, parent }),
    judgeFileSystem(stats.type, mountOptionsOf(mountinfo, parent)),
    judgeSpace(space, minFree),
    ...(writable ? [await lockCheck(parent)] : []),
  ];
}

/** Two guards on one file in a folder made for it, which is removed again. */
async function lockCheck(parent: string): Promise<Check> {
  let folder: string | null = null;
  try {
    const { Guards } = await import('../../shared/lock/guard.ts');
    folder = await mkdtemp(path.join(parent, '.vole-doctor-'));
    const guards = new Guards(folder);
    const first = guards.try('doctor', 'exclusive');
    const second = guards.try('doctor', 'shared');
    first?.release();
    second?.release();
    return judgeLocks(first !== null && second === null, '');
  } catch (error) {
    return judgeLocks(null, oneLine(error));
  } finally {
    if (folder) await rm(folder, { recursive: true, force: true });
  }
}

/** The directory, or the parent in which it would be made. */
async function nearestThere(dir: string): Promise<string> {
  for (let at = dir; ; at = path.dirname(at)) {
    try {
      await access(at);
      return at;
    } catch {
      if (at === path.dirname(at)) return at;
    }
  }
}
