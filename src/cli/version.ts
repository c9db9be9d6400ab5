import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of package.json: one above `dist/`, two above this file. */
export function packageRoot(): string {
  return fileURLToPath(findPackage().folder);
}

export function version(): string {
  return findPackage().version;
}

function findPackage(): { folder: URL; version: string } {
  for (const relative of ['../', '../../']) {
    const folder = new URL(relative, import.meta.url);
    try {
      const found = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as Record<
        string,
        unknown
      >;
      if (found['name'] === 'vole') return { folder, version: String(found['version']) };
    } catch {
      // not there: the next place
    }
  }
  return { folder: new URL('../', import.meta.url), version: 'unknown' };
}
