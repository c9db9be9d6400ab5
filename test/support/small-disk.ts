import { execFileSync } from 'node:child_process';
import type { Cleanup } from './temp.ts';

/** A small file system of its own, or null where this user may mount none. */
export function smallDisk(cleanup: Cleanup, size: string): string | null {
  const dir = cleanup.tempDir('vole-disk-');
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    return null;
  }
  cleanup.defer(() => void execFileSync('umount', ['-l', dir]));
  return dir;
}
