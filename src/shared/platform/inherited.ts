import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC as Linux has it on the architectures of Node.js. */
const CLOSED_ON_EXEC = 0o2000000;

/**
 * Closes the descriptors above standard error that this process was started with: a program that it starts would
 * have them too, and with them locks and sockets that are not its own. Node.js marks what it opens itself, and of
 * what it was given the first sixteen or so, to be closed on exec; the others are those without that mark.
 */
export function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const fd = Number(name);
    if (fd <= 2 || (flagsOf(fd) & CLOSED_ON_EXEC) !== 0) continue;
    try {
      closeSync(fd);
    } catch {
      // it was the listing's own
    }
  }
}

function flagsOf(fd: number): number {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags === undefined ? CLOSED_ON_EXEC : Number.parseInt(flags, 8);
  } catch {
    return CLOSED_ON_EXEC; // closed by now
  }
}
