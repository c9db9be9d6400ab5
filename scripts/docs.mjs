// Writes the pages of docs/ that are made from the code; with --check writes nothing and fails where
// one differs from what is there.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { module } = await runnerImport(path.join(root, 'scripts/docs/pages.ts'), {
  root,
  configFile: false,
  logLevel: 'warn',
});
const check = process.argv.includes('--check');
let stale = 0;

for (const [file, text] of module.pages()) {
  const full = path.join(root, file);
  if (readOrEmpty(full) === text) continue;
  if (check) {
    stale += 1;
    console.error(`${file} differs from the code: run \`npm run docs\``);
  } else {
    writeFileSync(full, text);
    console.log(`wrote ${file}`);
  }
}
process.exitCode = stale > 0 ? 1 : 0;

function readOrEmpty(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
