import { execFile, execFileSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { cleanEnv } from '../support/server-rig.ts';
import { type CommandResult, voleCommand } from '../support/vole-command.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');
let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version']).toString().includes('util-linux');
  } catch {
    return false;
  }
}

async function piped(...args: string[]): Promise<CommandResult> {
  return await voleCommand([...args, '--data', rig.dataDir]);
}

/** What a terminal of so many columns is sent: output and errors. */
async function screen(line: string, columns = 80, env: Record<string, string> = {}): Promise<string> {
  const command = `stty cols ${columns}; VOLE_DATA=${rig.dataDir} ${process.execPath} ${bin} ${line}`;
  const all = { ...cleanEnv(), TERM: 'xterm', NO_COLOR: '', ...env };
  const done = await promisify(execFile)('script', ['-qec', command, '/dev/null'], { env: all });
  return done.stdout.replaceAll('\r\n', '\n');
}

describe.skipIf(!hasScript())('vole logs on a terminal', () => {
  it('has a header and a footer, and on a pipe it is the log alone', async () => {
    await rig.repository('team/app', { job: { steps: ['echo one', 'echo two; exit 3'] } });
    rig.runner(['--machine', 'build-host']);
    const [run = 0] = await rig.submit('team/app');
    await rig.ended(run);
    const log = await piped('logs', String(run));
    expect(log.stderr).toBe('');
    for (const line of [`logs ${run}`, `logs ${run} -f`]) {
      const shown = await screen(line, 80, { NO_COLOR: '1' });
      const at = shown.indexOf(log.stdout);
      expect(shown.slice(0, at)).toMatch(
        new RegExp(
          `^run ${run}: job of team/app, main \\w{8}\\nbuild-host, attempt 1, started .* ago, took .*\\n$`,
        ),
      );
      expect(shown.slice(at + log.stdout.length)).toMatch(
        new RegExp(`^✓ 1 .*\\n✗ 2 .* failed .*exit code 3\\nrun ${run} failed after .*: step 2 .*\\n$`),
      );
    }
    expect(await screen(`logs ${run} --json`)).toBe((await piped('logs', String(run), '--json')).stdout);
  });
});

describe.skipIf(!hasScript())('vole runs and vole submit --wait on a terminal', () => {
  it('fit it, have colours unless NO_COLOR is set, and say why a run failed', async () => {
    await rig.repository('team/app', {
      'a-job-with-a-long-name-that-goes-on-and-on-and-on': { steps: ['exit 3'] },
      ok: { steps: ['true'] },
    });
    rig.runner(['--machine', 'build-host']);
    const waited = await screen('submit team/app --wait || true', 120);
    expect(waited).toContain('\u001b[31m✗ a-job');
    expect(waited).toMatch(/✗ a-job\S* #1 +failed +\d\.\ds {2}build-host: step 1 .*exit code 3/);
    expect(waited).toContain('\u001b[32m✓ ok');
    expect(waited).toMatch(/✓ ok #2 +passed +\d\.\ds {2}build-host/);

    const runs = await screen('runs', 110);
    expect(runs).toContain('\u001b[31mfailed');
    expect(runs).toContain('step 1 ');
    const plain = await screen('runs', 110, { NO_COLOR: '1' });
    expect(plain).not.toContain('\u001b');
    expect(Math.max(...plain.split('\n').map((line) => Array.from(line).length))).toBeLessThanOrEqual(110);
    expect(plain).toContain('…');
    expect((await piped('runs')).stdout).toContain('a-job-with-a-long-name-that-goes-on-and-on-and-on');
    expect(await screen('runs --state lost')).toBe('vole: there are no runs in state lost\n');
  });

  it('tell of a pipeline whose workflow file has a fault', async () => {
    await rig.repository('team/bad', { job: { steps: ['true'], needs: ['nobody'] } });
    expect((await piped('submit', 'team/bad')).code).toBe(65);
    expect(await screen('runs', 200)).toMatch(
      /^vole: pipeline 1 \(team\/bad, main\) has no runs: \.vole\.yml:\d+:\d+: .*nobody/m,
    );
    expect((await piped('runs')).stderr).toBe('vole: there are no runs\n');
  });
});
