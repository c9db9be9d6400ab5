import { closeSync, readdirSync, readlinkSync } from 'node:fs';

/**
 * Closes what of this process is open on the files that `isMeant` says, by the paths they were opened
 * with, and is not in `kept`. A thread that is terminated between opening and closing a file leaves the
 * descriptor open; call this when it has exited, for files that nobody else opens.
 */
export function closeDescriptors(isMeant: (file: string) => boolean, kept: readonly number[] = []): void {
  for (const fd of readdirSync('/proc/self/fd').map(Number)) {
    if (kept.includes(fd)) continue;
    try {
      if (isMeant(readlinkSync(`/proc/self/fd/${fd}`))) closeSync(fd);
    } catch {
      // that of the listing itself, which is closed by now
    }
  }
}
