import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { Cleanup } from '../support/temp.ts';
import { until } from '../support/until.ts';
import { VoleProcess } from '../support/vole-process.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');
let cleanup: Cleanup;
beforeEach(() => {
  cleanup = new Cleanup();
});
afterEach(() => cleanup.run());

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version']).toString().includes('util-linux');
  } catch {
    return false;
  }
}

describe.skipIf(!hasScript())('vole run on a terminal', () => {
  async function screen(env: Record<string, string>): Promise<string> {
    const root = cleanup.tempDir('vole-run-tty-');
    const folder = path.join(root, 'app');
    mkdirSync(folder);
    writeFileSync(
      path.join(folder, '.vole.yml'),
      'on: [push]\njobs:\n  a: {steps: [{run: "printf up; echo; sleep 1.2"}]}\n',
    );
    const command = `${process.execPath} ${bin} run --jobs 2 --dir ${root}/dir`;
    const all = { ...process.env, TERM: 'xterm', NO_COLOR: '', ...env };
    const done = await promisify(execFile)('script', ['-qec', command, '/dev/null'], {
      cwd: folder,
      env: all,
    });
    return done.stdout;
  }

  it('has a line for each slot below the output, and colours', async () => {
    const out = await screen({});
    expect(out).toMatch(/slot 1 {2}a +\d\.\ds {2}up/);
    expect(out).toMatch(/slot 2 {2}starting[^]*slot 2 {2}idle/);
    expect(out).not.toMatch(/slot 2 {2}idle[^]*starting/);
    expect(out).toContain('\u001b[32m✓ a');
    expect(out.slice(out.indexOf('✓ a'))).not.toContain('slot');
  });

  it('has no colours where NO_COLOR is set', async () => {
    const out = await screen({ NO_COLOR: '1' });
    expect(out).toMatch(/slot 1 {2}a +\d\.\ds/);
    expect(out).not.toMatch(/\u001b\[\d*m/); // oxlint-disable-line no-control-regex
  });
});

describe('whoever reads only the first line of', () => {
  it('vole server and vole runner leaves them at work', async () => {
    const rig = await Rig.start();
    cleanup.defer(() => rig.close());
    const data = path.join(rig.root, 'unread');
    const server = new VoleProcess([
      'server',
      '--data',
      data,
      '--http',
      '127.0.0.1:0',
      '--ssh',
      '127.0.0.1:0',
    ]);
    cleanup.defer(() => server.destroy());
    server.child.stdout?.destroy();
    const ready = path.join(data, 'server.json');
    await until('the server', () => {
      try {
        return execFileSync('cat', [ready], { stdio: 'pipe' }).length > 0;
      } catch {
        return false;
      }
    });
    await rig.repository('o/r', { a: { steps: ['true'] } });
    const runner = rig.runner(['--once']);
    runner.child.stdout?.destroy();
    const [id = 0] = await rig.submit('o/r');
    expect(await rig.ended(id)).toMatchObject({ state: 'passed' });
    expect((await runner.ended).code).toBe(0);
    server.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
  });
});
