import { execFileSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
let built = false;

/** Builds dist/ and the test children once a test run, whichever projects ask. */
export default function build(): void {
  if (built || process.env['VOLE_TEST_BUILT'] === '1') return;
  execFileSync(process.execPath, ['scripts/build.mjs', '--test'], { cwd: root, stdio: 'inherit' });
  built = true;
}
