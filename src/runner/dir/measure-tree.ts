import { lstatSync, readdirSync, type Stats } from 'node:fs';

const BLOCK_BYTES = 512;

/**
 * Bytes on disk below a path, as `du -s` counts them: blocks of 512 bytes whatever the file system's
 * own block is, a file with several links once, links themselves and not what they name. What
 * vanishes or may not be read while it is measured counts as nothing.
 */
export function measureTree(root: string): number {
  const seen = new Set<string>();
  let blocks = 0;
  const pending = [root];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    const stat = statOf(file);
    if (!stat) continue;
    if (stat.nlink > 1 && !stat.isDirectory()) {
      const inode = `${stat.dev}:${stat.ino}`;
      if (seen.has(inode)) continue;
      seen.add(inode);
    }
    blocks += stat.blocks;
    if (!stat.isDirectory()) continue;
    try {
      for (const name of readdirSync(file)) pending.push(`${file}/${name}`);
    } catch {
      // unreadable or gone
    }
  }
  return blocks * BLOCK_BYTES;
}

/** Undefined for what is gone, may not be looked at, or has a path longer than the kernel takes. */
function statOf(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
