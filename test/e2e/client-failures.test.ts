import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { type CommandResult, voleCommand } from '../support/vole-command.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

async function vole(...args: string[]): Promise<CommandResult> {
  return await voleCommand([...args, '--data', rig.dataDir]);
}

describe('vole why of a run that failed', () => {
  it('says which step, how, its last lines without what commands a terminal, and what to do next', async () => {
    // What comes after it is more than is looked at first.
    const after = 'yes 0123456789012345678901234567890123456789 | head -n 6000';
    await rig.repository('team/app', {
      job: {
        steps: [
          'echo fine',
          "seq 1 20; printf '\\033[2Jred\\n'; echo '/x/step-2.sh: 1: [[: not found' >&2; exit 127",
          { run: after, if: 'always()' },
        ],
      },
    });
    rig.runner(['--machine', 'build-host']);
    const [run = 0] = await rig.submit('team/app');
    await rig.ended(run);
    const { code, stdout, stderr } = await vole('why', String(run));
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      new RegExp(`^run ${run} \\(job of team/app\\) is failed \\(command-not-found\\): step 2 `),
    );
    expect(stdout).toMatch(/^ {2}commit: main [0-9a-f]{8}$/m);
    expect(stdout).toMatch(/^ {2}host: build-host, attempt 1, started .* ago, took /m);
    expect(stdout).toMatch(/^ {4}✓ 1 .* passed +\d/m);
    expect(stdout).toMatch(/^ {4}✗ 2 .* failed +\d/m);
    const said = [...Array.from({ length: 8 }, (_, at) => `    | ${at + 13}`), '    | red'].join('\n');
    expect(stdout).toContain(said);
    expect(stdout).toContain('shell: bash');
    expect(stdout).toContain(`\`vole logs ${run} --step 2\``);
    expect(stdout).toContain(`\`vole retry ${run}\``);

    const json = JSON.parse((await vole('why', String(run), '--json')).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({ run, state: 'failed', reason: 'command-not-found', wait: null });
    expect(json).toMatchObject({ cancelWhy: null, machine: 'build-host', failedStep: 2, attempt: 1 });
    expect(json['lastLines']).toHaveLength(10);
    expect(json['hint']).toMatch(/shell: bash/);
  });

  it('says what is known without its log where that cannot be read', async () => {
    await rig.repository('team/app', { job: { steps: ['yes | head -n 100000; exit 3'] } });
    rig.runner();
    const [run = 0] = await rig.submit('team/app');
    await rig.ended(run);
    const logs = path.join(rig.dataDir, 'logs');
    rmSync(logs, { recursive: true });
    writeFileSync(logs, 'no folder');
    const { code, stdout, stderr } = await vole('why', String(run));
    expect(code).toBe(0);
    expect(stderr).toMatch(new RegExp(`^vole: the log of run ${run} cannot be read: .*\n$`));
    expect(stdout).toMatch(/^ {4}✗ 1 .* exit code 3$/m);
  });
});
