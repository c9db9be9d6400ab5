import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newKeyPair } from '../../src/runner/session/keys.ts';
import { Cleanup } from '../support/temp.ts';
import { VoleProcess } from '../support/vole-process.ts';

const here = path.resolve(import.meta.dirname, '../..');

let cleanup: Cleanup;
let root: string;
beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-agent-packages-');
  writeFileSync(path.join(root, 'key'), newKeyPair().privateKey);
});
afterEach(() => cleanup.run());

/** The built program, installed with all of its packages but this one. */
function installedWithout(missing: string): string {
  const vole = path.join(root, 'vole');
  for (const name of ['bin', 'dist']) {
    const filter = (file: string): boolean => !file.endsWith('.map');
    cpSync(path.join(here, name), path.join(vole, name), { recursive: true, filter });
  }
  cpSync(path.join(here, 'package.json'), path.join(vole, 'package.json'));
  const packages = path.join(here, 'node_modules');
  mkdirSync(path.join(vole, 'node_modules'));
  for (const name of readdirSync(packages)) {
    if (missing === name || missing.startsWith(`${name}/`)) continue;
    symlinkSync(path.join(packages, name), path.join(vole, 'node_modules', name));
  }
  return path.join(vole, 'bin', 'vole.cjs');
}

const ARGS = ['runner', '--server', 'ssh://a@127.0.0.1:1', '--key', 'key', '--dir', 'dir'];
const AGENT = ['--agent-url', 'http://127.0.0.1:1', '--agent-plan-model', 'p', '--agent-build-model', 'b'];

it.each(['opencode-ai', '@opencode-ai/sdk'])(
  'a runner that is to have agents and lacks %s ends before it takes anything, and says what to do',
  async (missing) => {
    const command = [process.execPath, installedWithout(missing)];
    const hostKey = ['--host-key', `SHA256:${'A'.repeat(43)}`];
    const runner = new VoleProcess([...ARGS, ...AGENT, ...hostKey], { cwd: root, command });
    cleanup.defer(() => void runner.child.kill('SIGKILL'));
    expect((await runner.ended).code).toBe(72);
    const line = runner.stderr.split('\n').find((line) => line.includes('is not installed'));
    expect(line).toContain(
      `for --agent-url: the package ${missing} is not installed: ` +
        'npm install opencode-ai@1.18.33 @opencode-ai/sdk@1.18.33',
    );
    expect(line).not.toContain(root);
    expect(existsSync(path.join(root, 'dir'))).toBe(false);
  },
);
