import type { SizeOrShare } from '../../shared/settings/types.ts';
import { formatBytes } from '../../shared/units.ts';
import { type Check, missing, ok, warn } from './check.ts';

/** File systems by the type that statfs gives, as far as it matters here. */
const FILE_SYSTEMS: ReadonlyMap<
  number,
  { name: string; kind: 'local' | 'memory' | 'network' | 'fuse' | 'kernel' }
> = new Map([
  [0xef53, { name: 'ext4', kind: 'local' }],
  [0x5846_5342, { name: 'xfs', kind: 'local' }],
  [0x9123_683e, { name: 'btrfs', kind: 'local' }],
  [0x2fc1_2fc1, { name: 'zfs', kind: 'local' }],
  [0xf2f5_2010, { name: 'f2fs', kind: 'local' }],
  [0xca45_1a4e, { name: 'bcachefs', kind: 'local' }],
  [0x794c_7630, { name: 'overlayfs', kind: 'local' }],
  [0x0102_1994, { name: 'tmpfs', kind: 'memory' }],
  [0x8584_58f6, { name: 'ramfs', kind: 'memory' }],
  [0x6969, { name: 'nfs', kind: 'network' }],
  [0xff53_4d42, { name: 'cifs', kind: 'network' }],
  [0xfe53_4d42, { name: 'smb', kind: 'network' }],
  [0x517b, { name: 'smb', kind: 'network' }],
  [0x00c3_6400, { name: 'ceph', kind: 'network' }],
  [0x0102_1997, { name: '9p', kind: 'network' }],
  [0x0bd0_0bd0, { name: 'lustre', kind: 'network' }],
  [0x6573_5546, { name: 'fuse', kind: 'fuse' }],
  [0x9fa0, { name: 'proc', kind: 'kernel' }],
  [0x6265_6572, { name: 'sysfs', kind: 'kernel' }],
  [0x6367_7270, { name: 'cgroup2', kind: 'kernel' }],
  [0x1cd1, { name: 'devpts', kind: 'kernel' }],
]);

export function judgeFileSystem(type: number, mountOptions: readonly string[]): Check {
  const name = 'file system';
  const known = FILE_SYSTEMS.get(type % 2 ** 32);
  const found = known?.name ?? `type 0x${type.toString(16)}`;
  if (mountOptions.includes('ro'))
    return missing(name, `${found}, read-only`, 'Mount it writable, or choose another --dir.');
  if (mountOptions.includes('noexec')) {
    return warn(
      name,
      `${found}, noexec`,
      'Programs that a job builds cannot be started: mount it without noexec.',
    );
  }
  switch (known?.kind) {
    case 'network': {
      const remedy =
        'Locks on it are not to be relied on across hosts: put --dir on a local disk, one for each host.';
      return missing(name, `${found}, a network file system`, remedy);
    }
    case 'memory':
      return warn(
        name,
        `${found}, in memory`,
        'Caches are lost at a reboot and take memory from jobs: use a disk.',
      );
    case 'kernel':
      return missing(name, `${found}, which keeps no files`, 'Choose another --dir.');
    case 'fuse':
      return warn(name, found, 'Whether its locks hold is up to its driver: put --dir on a local disk.');
    case 'local':
      return ok(name, found);
    case undefined:
      return ok(name, `${found}, taken for local`);
  }
}

export interface Space {
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly totalFiles: number;
  readonly freeFiles: number;
}

export function judgeSpace(space: Space, minFree: SizeOrShare): Check {
  const name = 'free space';
  const wanted = 'bytes' in minFree ? minFree.bytes : minFree.share * space.totalBytes;
  const found = `${formatBytes(space.freeBytes)} of ${formatBytes(space.totalBytes)}`;
  if (space.totalBytes === 0) return missing(name, found, 'There is no room at all: choose another --dir.');
  if (space.freeBytes < wanted) {
    const remedy = `Under --min-free (${formatBytes(wanted)}) a runner takes no runs: free space, or run \`vole cache trim\`.`;
    return warn(name, found, remedy);
  }
  if (space.totalFiles > 0 && space.freeFiles < 0.05 * space.totalFiles) {
    return warn(
      name,
      `${found}, ${space.freeFiles} inodes`,
      'Inodes run out before bytes do: run `vole cache trim`.',
    );
  }
  return ok(name, found);
}

export function judgeDirectory(
  dir: string,
  state: { exists: boolean; writable: boolean; parent: string },
): Check {
  const name = 'directory';
  if (state.exists && state.writable) return ok(name, dir);
  if (state.writable) return ok(name, `${dir} (not there yet; can be made in ${state.parent})`);
  const where = state.exists ? dir : state.parent;
  return missing(
    name,
    `${where} is not writable`,
    `Give it to the runner’s user: \`chown\` it, or choose another --dir.`,
  );
}

/** `excludes`: whether a second lock on one file was refused while the first was held; null where it could not be tried. */
export function judgeLocks(excludes: boolean | null, why: string): Check {
  const name = 'locks';
  if (excludes) return ok(name, 'exclude each other');
  const remedy = 'No cache is safe there: put --dir on a local disk.';
  return missing(name, excludes === null ? why : 'two holders had one lock', remedy);
}

/** Options of the mount that a path is on: the last in `/proc/self/mountinfo` with the longest fitting prefix. */
export function mountOptionsOf(mountinfo: string, path: string): string[] {
  let best = '';
  let options: string[] = [];
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const fields = before.split(' ');
    const point = (fields[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const fits =
      point !== '' && (path === point || path.startsWith(point.endsWith('/') ? point : `${point}/`));
    if (!fits || point.length < best.length) continue;
    best = point;
    options = [...(fields[5] ?? '').split(','), ...(after.split(' ')[2] ?? '').split(',')];
  }
  return options;
}
