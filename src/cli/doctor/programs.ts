import { type Check, missing, ok, warn } from './check.ts';
import type { Probe } from './probe.ts';

const OLDEST_NODE = [20, 19];
/** `checkout.workers`, which halves the time of a large checkout, came with it. */
const ADVISED_GIT = [2, 32];
/** Older ones were never tried. */
const OLDEST_GIT = [2, 30];

export function judgeNode(version: string): Check {
  const name = 'Node.js';
  const found = version.replace(/^v/, '');
  if (atLeast(found, OLDEST_NODE)) return ok(name, found);
  return missing(name, found, `Install Node.js ${OLDEST_NODE.join('.')} or newer.`);
}

export function judgeGit(probe: Probe): Check {
  const install = 'Install git, such as by `apt-get install git`.';
  if (!probe.ok) return missing('git', probe.found ? probe.why : 'not in PATH', install);
  const version = /(\d+\.\d+(?:\.\d+)*)/.exec(probe.output)?.[1] ?? '';
  if (!atLeast(version, OLDEST_GIT)) {
    return missing('git', version || probe.output, `Install git ${OLDEST_GIT.join('.')} or newer.`);
  }
  if (!atLeast(version, ADVISED_GIT)) {
    return warn('git', version, `Large checkouts are faster with git ${ADVISED_GIT.join('.')} or newer.`);
  }
  return ok('git', version);
}

export function judgeShell(name: 'sh' | 'bash', probe: Probe): Check {
  if (probe.ok) return ok(name, name === 'bash' ? (probe.output.split('\n')[0] ?? '') : 'works');
  const found = probe.found ? probe.why : 'not in PATH';
  if (name === 'sh') return missing(name, found, 'Every step needs it: install a POSIX shell.');
  return warn(name, found, 'Steps with `shell: bash` will fail: install bash.');
}

export function judgeMkfifo(probe: Probe): Check {
  if (probe.ok || probe.found) return ok('mkfifo', 'there');
  return missing('mkfifo', 'not in PATH', 'A step’s output goes through FIFOs: install coreutils.');
}

export function judgeSshKeygen(probe: Probe): Check {
  // It has no option that only prints something, so that it starts at all is what counts.
  if (probe.ok || probe.found) return ok('ssh-keygen', 'there');
  return warn('ssh-keygen', 'not in PATH', 'Needed only to make a runner’s key: install openssh-client.');
}

export function judgeSystemd(probe: Probe, booted: boolean): Check {
  const version = probe.ok ? (probe.output.split('\n')[0] ?? '') : '';
  if (probe.ok && booted) return ok('systemd', version);
  const found = probe.ok ? `${version}, but it did not boot this host` : 'not in PATH';
  const remedy =
    'packaging/*.service need it. Another supervisor must send SIGTERM to the runner alone and wait.';
  return warn('systemd', found, remedy);
}

export function judgeAddon(name: string, purpose: string, probe: Probe): Check {
  if (probe.ok) return ok(name, 'loads');
  const remedy = `${purpose}. Run \`npm ci\` again with this Node.js; on Alpine (musl) there is no build of it.`;
  return missing(name, probe.why, remedy);
}

/** `lacks`: what of npm's packages a coding agent needs and is not here; null where all is. */
export function judgeAgent(version: string, lacks: string | null): Check {
  if (lacks === null) return ok('coding agent', `OpenCode ${version}`);
  return warn('coding agent', lacks, 'Needed only for a runner with --agent-url.');
}

function atLeast(version: string, oldest: readonly number[]): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  for (const [index, wanted] of oldest.entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}
