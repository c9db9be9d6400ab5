import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { oneLine } from '../../shared/errors.ts';

/** The one version that the agents' home is made for. */
export const OPENCODE_VERSION = '1.18.33';

const SDK = '@opencode-ai/sdk';

export interface HostKind {
  readonly arch: string;
  /** The C library is musl, as on Alpine. */
  readonly musl: boolean;
  /** The processor has AVX2, which the build that is not `baseline` needs. */
  readonly avx2: boolean;
}

/** Packages that have a binary for such a host, the best first. */
export function packagesFor({ arch, musl, avx2 }: HostKind): string[] {
  const libc = musl ? '-musl' : '';
  if (arch === 'arm64') return [`opencode-linux-arm64${libc}`];
  if (arch !== 'x64') return [];
  const baseline = `opencode-linux-x64-baseline${libc}`;
  return avx2 ? [`opencode-linux-x64${libc}`, baseline] : [baseline];
}

/** Path of OpenCode's own binary, or in one line why there is none. */
export function findOpenCode(kind: HostKind): { ok: true; file: string } | { ok: false; why: string } {
  const names = packagesFor(kind);
  if (names.length === 0) return { ok: false, why: `OpenCode has no build for ${kind.arch} on Linux` };
  const here = createRequire(import.meta.url);
  let opencode: string;
  try {
    opencode = here.resolve('opencode-ai/package.json');
  } catch {
    return { ok: false, why: notInstalled('opencode-ai') };
  }
  const whence = createRequire(opencode);
  for (const name of names) {
    try {
      return {
        ok: true,
        file: path.join(path.dirname(whence.resolve(`${name}/package.json`)), 'bin/opencode'),
      };
    } catch {
      // the next one may be there
    }
  }
  return { ok: false, why: notInstalled(names.join(' or ')) };
}

/**
 * What agents need of npm's packages and is not here, in one line with what to do; null where all is. The
 * worker threads load the SDK when a run first needs it, which is late to learn that there is none.
 */
export function missingPackage(kind: HostKind): string | null {
  const found = findOpenCode(kind);
  if (!found.ok) return found.why;
  const folders = createRequire(import.meta.url).resolve.paths(SDK) ?? [];
  const there = folders.some((folder) => existsSync(path.join(folder, SDK, 'package.json')));
  return there ? null : notInstalled(SDK);
}

function notInstalled(name: string): string {
  const packages = ['opencode-ai', SDK].map((name) => `${name}@${OPENCODE_VERSION}`).join(' ');
  return `the package ${name} is not installed: npm install ${packages}, in the folder that vole is installed in`;
}

/** This host. `cpuInfo`: text of `/proc/cpuinfo`. */
export function hostKind(arch: string, cpuInfo: string): HostKind {
  return { arch, musl: isMusl(), avx2: /^flags\b.*\bavx2\b/m.test(cpuInfo) };
}

function isMusl(): boolean {
  try {
    return readdirSync('/lib').some((name) => name.startsWith('ld-musl-'));
  } catch (error) {
    throw new Error(`/lib cannot be read: ${oneLine(error)}`, { cause: error });
  }
}
