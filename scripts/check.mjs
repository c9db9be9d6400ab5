// Everything that must hold before a change is taken: format, lint, types, dead code, generated docs
// and the whole test suite. All of them run, whatever the others say. The last line has the numbers:
// tests, and each of the other checks that failed counted as one failure.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { summarize } from './summary.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const results = path.join(root, 'node_modules/.cache/vole/tests.json');
const checks = ['format', 'lint', 'types', 'dead', 'docs'];

function run(title, args) {
  console.log(`\n== ${title}`);
  const began = performance.now();
  const { status, signal, error } = spawnSync('npm', args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const passed = status === 0;
  const why = passed ? 'passed' : `FAILED (${error?.message ?? signal ?? `exit ${status}`})`;
  console.log(`== ${title}: ${why} after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  return passed;
}

mkdirSync(path.dirname(results), { recursive: true });
rmSync(results, { force: true });
const failedChecks = checks.filter((name) => !run(name, ['run', '--silent', `check:${name}`]));
const reporters = [
  '--reporter=default',
  '--reporter=./test/support/skipped-reporter.ts',
  '--reporter=json',
  `--outputFile.json=${results}`,
];
const testsPassed = run('tests', ['test', '--silent', '--', ...reporters]);

function readResults() {
  try {
    return JSON.parse(readFileSync(results, 'utf8'));
  } catch {
    return null; // the suite ended before it could say anything
  }
}

const { line, ok, notes } = summarize(readResults(), testsPassed, failedChecks);
for (const note of ['', ...notes]) console.log(note);
console.log(line);
process.exitCode = ok ? 0 : 1;
