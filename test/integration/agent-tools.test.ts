import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardName } from '../../src/shared/dir-layout.ts';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { childFile } from '../support/lock-children.ts';
import { ToolsRig } from '../support/tools-rig.ts';
import { until } from '../support/until.ts';
import { withinASecond } from '../support/within-a-second.ts';

let tools: ToolsRig;
beforeEach(() => {
  tools = new ToolsRig({ threads: 2 });
});
afterEach(() => tools.close());

const lock = () => tools.rig.guards.try(guardName.tools(), 'exclusive');
const count = (name: string): string => `echo ${name} >>"$VOLE_TOOLS/ran"`;

describe('install scripts', () => {
  it('run in their order, without an executable bit, by their first line or by sh', async () => {
    tools.script('b', count('b'));
    tools.script('a.sh', `${count('a')}; case $0 in */a.sh) ${count('itself')};; esac`);
    const node = 'require("fs").appendFileSync(process.env.VOLE_TOOLS + "/ran", "node\\n")';
    tools.script('c', `#!${process.execPath}\n${node}\n`);
    tools.script('d', `#! /usr/bin/env -S ${process.execPath} --no-warnings\r\n${node}\n`);
    const { outcome } = await tools.run(['b', 'a', 'c', 'd']);
    expect(outcome).toMatchObject({ result: 'passed', detail: '' });
    expect(tools.lines('ran')).toEqual(['b', 'a', 'itself', 'node', 'node']);
  });

  it('see little of the environment, and no secret', async () => {
    tools.script(
      'env',
      'env | cut -d = -f 1 | sort >"$VOLE_TOOLS/names"; env >"$VOLE_TOOLS/all"; pwd >>"$VOLE_TOOLS/all"',
    );
    const baseEnv = { PATH: '/usr/bin:/bin', https_proxy: 'http://proxy:1', TOKEN: 's3cret-of-host' };
    const run = await tools.run(['env'], {
      secrets: { KEY: 's3cret-of-job' },
      baseEnv,
      pythonVersion: '3.9',
    });
    expect(run.outcome.detail).toBe('');
    // What the shell itself adds is no matter of ours.
    expect(tools.lines('names').filter((name) => !['PWD', 'SHLVL', 'OLDPWD', '_'].includes(name))).toEqual([
      'HOME',
      'LC_ALL',
      'PATH',
      'TMPDIR',
      'VOLE_DOTNET_CHANNEL',
      'VOLE_JOB_MARKER',
      'VOLE_NODE',
      'VOLE_PYTHON_VERSION',
      'VOLE_TOOLS',
      'https_proxy',
    ]);
    const all = tools.lines('all');
    const { tools: folder } = tools.rig;
    expect(all).toContain(`PATH=${folder}/bin:/usr/bin:/bin`);
    expect(all).toContain(`HOME=${folder}/home`);
    expect(all).toContain('VOLE_PYTHON_VERSION=3.9');
    expect(all.join('\n')).not.toContain('s3cret');
  });

  it('take no lock where none is named', async () => {
    const held = await tools.rig.guards.exclusive(guardName.tools());
    const run = await tools.run([]);
    held.release();
    expect(run.outcome.result).toBe('passed');
    expect(readdirSync(tools.rig.tools)).toEqual([]);
  });

  it('of the directory replace those that are built in', async () => {
    tools.script('node.sh', count('mine'));
    expect((await tools.run(['node'])).outcome.detail).toBe('');
    expect([tools.lines('ran'), existsSync(path.join(tools.rig.tools, 'bin/node'))]).toEqual([
      ['mine'],
      false,
    ]);
  });
});

describe('a script that has succeeded', () => {
  it('is not run again, and is where its text or a setting is another', async () => {
    tools.script('a', count('a'));
    for (const options of [
      {},
      {},
      { pythonVersion: '3.9' },
      { pythonVersion: '3.9' },
      { dotnetChannel: 'STS' },
    ]) {
      await tools.run(['a'], options);
    }
    expect(tools.lines('ran')).toHaveLength(3);
    tools.script('a', `${count('new')}\n`);
    const again = await tools.run(['a']);
    const once = await tools.run(['a']);
    expect(tools.lines('ran')).toEqual(['a', 'a', 'a', 'new']);
    expect(again.lines('v', 0)).toEqual(['install script a']);
    expect(once.lines('v', 0)).toEqual(['install script a: has succeeded before']);
  });

  it('is run again where a program has gone that was there', async () => {
    tools.script(
      'a',
      `${count('a')}; ln -sf "$VOLE_TOOLS/program" "$VOLE_TOOLS/bin/program"; : >"$VOLE_TOOLS/program"`,
    );
    await tools.run(['a']);
    await tools.run(['a']);
    expect(tools.lines('ran')).toHaveLength(1);
    rmSync(path.join(tools.rig.tools, 'program'));
    await tools.run(['a']);
    expect(tools.lines('ran')).toHaveLength(2);
    rmSync(path.join(tools.rig.tools, 'bin/program'));
    symlinkSync('program', path.join(tools.rig.tools, 'bin/program'));
    expect((await tools.run(['a'])).outcome.result).toBe('passed');
    expect(tools.lines('ran')).toHaveLength(3);
  });

  it('is run again after it has failed with another text, and where its stamp is no stamp', async () => {
    tools.script('a', count('a'));
    await tools.run(['a']);
    tools.script('a', `${count('broken')}; exit 1`);
    await tools.run(['a']);
    tools.script('a', count('a'));
    await tools.run(['a']);
    expect(tools.lines('ran')).toEqual(['a', 'broken', 'a']);
    writeFileSync(path.join(tools.rig.tools, 'stamps/a.json'), '{"key":');
    await tools.run(['a']);
    expect(tools.lines('ran')).toHaveLength(4);
  });

  it('is run again where it was killed half done', async () => {
    const half = `${count('begun')}; [ -e "$VOLE_TOOLS/go" ] || sleep 1000; ${count('done')}`;
    tools.script('a', half);
    const first = tools.start(['a']);
    await until('the script to have begun', () => tools.lines('ran').length === 1);
    await first.terminate();
    expect((await first.ended).gone).toBe(true);
    writeFileSync(path.join(tools.rig.tools, 'go'), '');
    expect((await tools.run(['a'])).outcome.result).toBe('passed');
    expect(tools.lines('ran')).toEqual(['begun', 'begun', 'done']);
  });
});

describe('a script that fails', () => {
  it('ends the run with the last of what it said, secrets taken out, and no script after it is run', async () => {
    tools.script(
      'a',
      `seq 1 100000; printf 'the key is s3cret-key\\n' >&2; sleep 0.2; printf 'no room' >&2; exit 3`,
    );
    tools.script('b', count('b'));
    const run = await tools.run(['a', 'b'], { secrets: { KEY: 's3cret-key' } });
    const { reason, detail } = run.outcome;
    expect(reason).toBe('agent-tools');
    expect(detail).toMatch(/^install script a failed with exit 3: ….*; 100000; the key is \*\*\*; no room$/);
    expect(detail.length).toBeLessThan(500);
    expect(tools.lines('ran')).toEqual([]);
    expect(run.lines('e', 0)).toEqual(['the key is ***', 'no room']);
    expect(run.lines('o', 0)).toHaveLength(100_000);
    lock()?.release();
  });

  it('is named where it has gone, or its interpreter is not there', async () => {
    expect((await tools.run(['gone'])).outcome).toMatchObject({
      reason: 'agent-tools',
      detail: 'there is no install script gone any more',
    });
    tools.script('odd', '#!/no/such/program\n');
    expect((await tools.run(['odd'])).outcome).toMatchObject({
      reason: 'agent-tools',
      detail: 'install script odd cannot be started: /no/such/program is not on this host',
    });
  });

  it('is one that takes longer than it may, and everything that it started ends', async () => {
    const [daemon, deaf] = [
      'setsid sleep 1000 &',
      `trap '' TERM; sleep 1000 & ${count('begun')}; wait; sleep 1000`,
    ];
    tools.script('a', `${daemon}\n${deaf}`);
    const run = await tools.run(['a'], { installScriptTimeoutMs: 1_000 });
    expect(run.outcome.detail).toBe('install script a took longer than 1 s and was ended');
    expect(tools.lines('ran')).toEqual(['begun']);
    expect(processesWithEnv('VOLE_JOB_MARKER', markerOf(1))).toEqual([]);
    expect(run.announced).toHaveLength(1);
    expect(run.gonePgids).toEqual(run.announced);
    const free = lock();
    expect(free).not.toBeNull();
    free?.release();
  });
});

/** Of the rig's runs, by their numbers. */
const markerOf = (run: number): string => `rig-${path.basename(tools.rig.dir)}/${run}`;

describe('a run that goes on after its scripts', () => {
  it('has given up the lock, and nothing that they started runs any more', async () => {
    tools.script('a', `setsid sleep 1000 &\nsleep 1000 &\n${count('a')}`);
    const run = tools.start(['a'], { goesOn: true });
    await run.logged('goes on');
    expect(processesWithEnv('VOLE_JOB_MARKER', markerOf(1))).toEqual([]);
    const taken = tools.rig.guards.exclusive(guardName.tools());
    (await withinASecond('the lock of the tools', taken)).release();
    run.cancel();
    expect((await run.ended).outcome.result).toBe('passed');
    expect(tools.lines('ran')).toEqual(['a']);
  });
});

describe('a run that is stopped', () => {
  it('ends its script within seconds, with all that it started', async () => {
    tools.script(
      'a',
      `trap '' TERM; (setsid sleep 1000 &); ${count('begun')}; sleep 1000 & wait; sleep 1000`,
    );
    tools.script('b', count('b'));
    const run = tools.start(['a', 'b']);
    await until('the script to have begun', () => tools.lines('ran').length === 1);
    const start = performance.now();
    run.cancel();
    const { outcome, gone } = await run.ended;
    expect(performance.now() - start).toBeLessThan(8_000);
    expect([outcome.reason, outcome.detail, gone]).toEqual([
      'agent-tools',
      'install script a was ended with the run',
      true,
    ]);
    expect(processesWithEnv('VOLE_JOB_MARKER', markerOf(1))).toEqual([]);
    expect(tools.lines('ran')).toEqual(['begun']);
    const free = lock();
    expect(free).not.toBeNull();
    free?.release();
  });

  it('waits no longer for its turn', async () => {
    tools.script('a', count('a'));
    const held = await tools.rig.guards.exclusive(guardName.tools());
    const run = tools.start(['a']);
    await run.logged('waiting for the install scripts of another run');
    run.cancel();
    const { outcome } = await withinASecond('the end of the run', run.ended);
    held.release();
    expect(outcome.result).toBe('failed');
    expect(tools.lines('ran')).toEqual([]);
  });
});

describe('install scripts of several runs', () => {
  it('never overlap, in threads and in processes, and what one has done the others do not', async () => {
    const alone = 'mkdir "$VOLE_TOOLS/alone" || { echo overlap >>"$VOLE_TOOLS/overlaps"; exit 1; }';
    const work = `${alone}\necho begin >>"$VOLE_TOOLS/ran"\nsleep 0.1\necho end >>"$VOLE_TOOLS/ran"\nrmdir "$VOLE_TOOLS/alone"`;
    const names = ['a', 'b', 'c'];
    // Every process has texts of its own, so that nobody finds the other's work done.
    const folders = ['one', 'two'].map((which) => {
      const scripts = path.join(tools.rig.dir, which);
      const own = new ToolsRig({ shared: tools.rig.dir, scripts });
      for (const name of names) own.script(name, `# ${which}\n${work}`);
      tools.rig.cleanup.defer(() => own.close());
      return scripts;
    });
    const started = folders.map((scripts) =>
      promisify(execFile)(process.execPath, [childFile('tools-process'), tools.rig.dir, scripts, ...names]),
    );
    for (const { stdout } of await Promise.all(started)) expect(stdout).toBe('passed \npassed \n');
    expect(tools.lines('overlaps')).toEqual([]);
    const ran = tools.lines('ran');
    expect(ran).toEqual(ran.map((_, at) => (at % 2 === 0 ? 'begin' : 'end')));
    // Four runs of three scripts: each of the two texts at least once, and never twice in a row.
    expect(ran.length / 2).toBeGreaterThanOrEqual(6);
    expect(ran.length / 2).toBeLessThanOrEqual(12);
  });
});

it('what a script says is in the log while it runs', async () => {
  tools.script('a', 'echo begun; while [ ! -e "$VOLE_TOOLS/go" ]; do sleep 0.05; done');
  const run = tools.start(['a']);
  await run.logged('begun');
  writeFileSync(path.join(tools.rig.tools, 'go'), '');
  expect((await run.ended).outcome.result).toBe('passed');
  expect(readFileSync(run.paths.spool, 'utf8')).toMatch(/ 0 v install script a\n\d+ 0 o begun\n/);
});
