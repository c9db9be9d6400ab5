import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { processesWithEnvPrefix } from '../../src/shared/platform/processes.ts';
import { bash, verdict } from '../support/agent-flow-rig.ts';
import { ForgeE2eRig } from '../support/forge-e2e-rig.ts';
import { directoryId } from '../support/image-rig.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const ISSUES = [3, 4, 5, 6];

let rig: ForgeE2eRig;
let model: ModelServer;
beforeEach(async () => {
  model = await ModelServer.start();
  model.script = ({ tools, messages, model: name }) => {
    if (tools.includes('StructuredOutput')) return verdict('accept');
    if (name === 'builder' && messages.at(-1)?.role !== 'tool') return bash('hello > made.txt');
    return { say: 'Done.' };
  };
  rig = await ForgeE2eRig.start(['--agent', '--max-concurrent-commands', '4']);
  rig.vole.cleanup.defer(() => model.close());
  await rig.register();
  rig.git.push({ 'a.txt': 'one\n' });
  for (const issue of ISSUES) rig.project.issue(issue);
  rig.forge.user(rig.project, 'alice', 'write');
});
afterEach(() => rig.close());

const dir = () => path.join(rig.vole.root, 'dir');

/** A runner with a directory of scripts of its own. */
function runner(name: string, scripts: Readonly<Record<string, string>>, args: readonly string[] = []): void {
  const folder = path.join(rig.vole.root, `scripts-${name}`);
  mkdirSync(folder);
  for (const [script, text] of Object.entries(scripts)) writeFileSync(path.join(folder, script), text);
  const models = [
    '--agent-url',
    model.url,
    '--agent-plan-model',
    'planner',
    '--agent-build-model',
    'builder',
  ];
  const install = ['--install-scripts', Object.keys(scripts).join(','), '--install-scripts-dir', folder];
  rig.vole.runner([...models, ...install, ...args]);
}

const lines = (name: string): string[] => {
  try {
    return readFileSync(path.join(dir(), 'tools', name), 'utf8')
      .split('\n')
      .filter(Boolean);
  } catch {
    return [];
  }
};

const comment = (issue: number): string =>
  rig.project.commentsOf(issue).findLast(({ author }) => author === 'vole-bot')?.body ?? '';

const ended = (issue: number): Promise<string> =>
  until(
    `the end of the command of ${issue}`,
    () => /\*\*(passed|failed|timed-out|cancelled|refused|lost)\*\*/.test(comment(issue)) && comment(issue),
    150_000,
  );

describe('install scripts of agent runs', () => {
  it('never overlap, also from two runner processes, and what they install is first on the PATH of the agent', async () => {
    const text = (whose: string): string =>
      [
        `# of runner ${whose}, so that no stamp of the other counts`,
        'mkdir "$VOLE_TOOLS/alone" || echo overlap >>"$VOLE_TOOLS/overlaps"',
        `echo 'begin ${whose}' >>"$VOLE_TOOLS/ran"`,
        'sleep 0.3',
        `printf '#!/bin/sh\\necho hello of the tools\\n' >"$VOLE_TOOLS/bin/hello"`,
        'chmod +x "$VOLE_TOOLS/bin/hello"',
        'rmdir "$VOLE_TOOLS/alone"',
        `echo 'end ${whose}' >>"$VOLE_TOOLS/ran"`,
      ].join('\n');
    for (const whose of ['a', 'b'])
      runner(whose, { hello: text(whose), again: text(whose) }, ['--jobs', '2']);
    for (const issue of ISSUES) await rig.comment(issue, 'alice', '/agent plan');
    for (const issue of ISSUES) expect(await ended(issue)).toContain('**passed**');
    expect(lines('overlaps')).toEqual([]);
    const ran = lines('ran');
    expect(new Set(ran)).toEqual(new Set(['begin a', 'end a', 'begin b', 'end b']));
    for (let at = 0; at < ran.length; at += 2) expect(ran[at + 1]).toBe(ran[at]?.replace('begin', 'end'));

    await rig.comment(3, 'alice', '/agent implement');
    await until('the change', () => rig.git.git('branch', '--list', 'agent/issue-3') !== '', 120_000);
    await until('its comment', () => comment(3).includes('pull request'), 60_000);
    expect(rig.git.git('show', 'agent/issue-3:made.txt')).toBe('hello of the tools');
  });

  it('abort ends one within 10 s, with all that it started, and the comment says so', async () => {
    const script = `trap '' TERM; (setsid sleep 1000 &); echo begun >>"$VOLE_TOOLS/ran"; sleep 1000 & wait; sleep 1000`;
    runner('a', { slow: script });
    await rig.comment(3, 'alice', '/agent plan');
    await until('the script to have begun', () => lines('ran').length === 1);
    const start = performance.now();
    await rig.comment(3, 'alice', '/agent abort');
    expect(await ended(3)).toContain('**cancelled**');
    expect(performance.now() - start).toBeLessThan(10_000);
    const left = () => processesWithEnvPrefix('VOLE_JOB_MARKER', `${directoryId(dir())}/`);
    expect(left()).toEqual([]);
    expect(model.asked).toEqual([]);
  });

  it('one that fails is told by the last that it said, and no model is asked', async () => {
    runner('a', { bad: 'seq 1 100000 >&2; echo no such release >&2; exit 4' });
    await rig.comment(3, 'alice', '/agent plan');
    const text = await ended(3);
    expect(text).toMatch(/\*\*failed\*\*[\s\S]*install script bad failed with exit 4: ….*no such release/);
    expect(text.length).toBeLessThan(1_500);
    expect(model.asked).toEqual([]);
  });
});
