import { readFileSync } from 'node:fs';

/** The version in package.json, which stands one folder above `dist/` and two above this file. */
export function version(): string {
  for (const relative of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(new URL(relative, import.meta.url), 'utf8');
      const found = JSON.parse(text) as { name?: string; version?: string };
      if (found.name === 'vole' && found.version) return found.version;
    } catch {
      // not there: the next place
    }
  }
  return 'unknown';
}
