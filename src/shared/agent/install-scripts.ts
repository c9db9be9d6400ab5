import { readdirSync } from 'node:fs';
import path from 'node:path';

/** Install scripts that come with vole. */
export const BUILT_IN_SCRIPTS = ['dotnet', 'node', 'python'] as const;
type BuiltIn = (typeof BUILT_IN_SCRIPTS)[number];

/** Where a script is: vole's own, or a file of the directory of scripts. */
export type InstallScript =
  | { readonly name: string; readonly builtIn: BuiltIn }
  | { readonly name: string; readonly file: string };

/**
 * Every script there is, by its name: a file is named as it is, or without `.sh` at its end, and takes the
 * place of a built-in one of the same name (`node` before `node.sh`, where there are both). Throws as
 * `readdirSync` does where the directory cannot be read.
 */
export function installScripts(dir: string | null): Map<string, InstallScript> {
  const found = new Map<string, InstallScript>(
    BUILT_IN_SCRIPTS.map((name) => [name, { name, builtIn: name }]),
  );
  if (dir === null) return found;
  const files = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.') && !entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .toReversed();
  for (const file of files) {
    const name = file.replace(/(.)\.sh$/, '$1');
    found.set(name, { name, file: path.join(dir, file) });
  }
  return found;
}
