import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApiTask } from '../../src/shared/api-forge.ts';
import { BOT_TOKEN } from '../support/forge/forge.ts';
import { ForgeE2eRig, WORKFLOW } from '../support/forge-e2e-rig.ts';
import { until } from '../support/until.ts';

let rig: ForgeE2eRig;
afterEach(() => rig.close());

describe('a repository on a forge', () => {
  it('has its pushes executed and its commits given statuses that link to the runs', async () => {
    rig = await ForgeE2eRig.start(['--public-url', 'https://ci.example/vole/']);
    await rig.register();
    expect(rig.webhook.url).toBe('https://ci.example/vole/hooks/gitea/team/app');
    rig.webhook = { ...rig.webhook, url: `${rig.vole.facts.http}/hooks/gitea/team/app` };
    rig.vole.runner(['--jobs', '2']);
    const sha = await rig.push({ '.vole.yml': WORKFLOW, file: 'x' });
    await rig.forge.state.until(
      'the end of both jobs',
      () => rig.shown(sha).join() === 'vole/lint success,vole/test success',
    );
    const runs = await rig.vole.runs();
    const test = runs.find(({ job }) => job === 'test');
    expect(rig.project.shown(sha).find(({ context }) => context === 'vole/test')).toMatchObject({
      target_url: `https://ci.example/vole/runs/${test?.id}`,
    });

    const bad = await rig.push({ '.vole.yml': WORKFLOW.replace('needs', 'neds') });
    await rig.forge.state.until('the fault', () => rig.shown(bad).join() === 'vole failure');
    expect(rig.project.shown(bad)[0]?.description).toMatch(/^\.vole\.yml:4:\d+: .*neds/);
    expect(rig.project.shown(bad)[0]?.target_url).toMatch(/^https:\/\/ci\.example\/vole\/pipelines\/\d+$/);

    expect(everything(rig.vole.dataDir)).not.toContain(BOT_TOKEN);
    expect(rig.vole.server.stderr + rig.vole.server.stdout).not.toContain(BOT_TOKEN);
    expect(rig.vole.server.stderr + rig.vole.server.stdout).not.toContain(rig.webhook.secret);
    expect(everything(rig.vole.dataDir)).not.toContain(rig.webhook.secret);
  });

  it('has commands, each with one comment, and aborts', async () => {
    rig = await ForgeE2eRig.start();
    await rig.register();
    rig.git.push({ '.vole.yml': WORKFLOW });
    rig.project.issue(3);
    rig.forge.user(rig.project, 'alice', 'write');
    rig.vole.runner(['--jobs', '2']);
    const own = () => rig.project.commentsOf(3).filter(({ author }) => author === 'vole-bot');
    await rig.comment(3, 'alice', '/agent plan');
    await rig.forge.state.until('the end of the command', () => own()[0]?.body.includes('**passed**'));
    // A command that the workflow file does not have.
    await rig.comment(3, 'alice', '/agent fix');
    await rig.forge.state.until('the fault', () => own()[1]?.body.includes('**failed**'));
    expect(own()[1]?.body).toContain('has no command');
    await rig.comment(3, 'mallory', '/agent plan');
    await rig.forge.state.until('the refusal', () => own()[2]?.body.includes('**refused**'));
    await rig.comment(3, 'alice', '/agent abort');
    await rig.forge.state.until('an answer', () => own()[3]?.body.includes('nothing to abort'));
    expect(own()).toHaveLength(4);
  });
});

describe('vole repo add', () => {
  const add = (extra: readonly string[] = []) =>
    rig.cli(['repo', 'add', 'team/app', rig.forge.cloneUrl(rig.project), ...rig.forgeFlags(), ...extra]);

  it('checks what the token may do first, and registers nothing where it lacks something', async () => {
    rig = await ForgeE2eRig.start();
    rig.forge.token('weak', 'weak-bot', ['user', 'issue']);
    rig.forge.user(rig.project, 'weak-bot', 'admin');
    writeFileSync(rig.tokenFile, 'weak');
    expect(await add()).toMatchObject({
      code: 77,
      stdout: '',
      stderr: `vole: team/app on ${rig.forge.apiUrl}: the token may not set a commit status\n`,
    });
    writeFileSync(rig.tokenFile, 'unknown');
    expect(await add()).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('the forge refuses the token'),
    });
    expect((await add(['--forge-token-file', path.join(rig.vole.root, 'none')])).stderr).toContain(
      'token file: ENOENT',
    );
    expect((await rig.cli(['repo', 'ls', '--json'])).stdout).toBe('{\n  "repositories": []\n}\n');

    const unchecked = await add(['--no-check']);
    expect(unchecked.stdout).toMatch(
      /^added team\/app .*\nwebhook: http:.*\/hooks\/gitea\/team\/app\nsecret: {2}[0-9a-f]{64}\n$/,
    );
    const shown = await rig.cli(['repo', 'webhook', 'team/app']);
    expect(unchecked.stdout).toContain(shown.stdout);
    const renewed = await rig.cli(['repo', 'webhook', 'team/app', '--new-secret']);
    expect(renewed.stdout).not.toBe(shown.stdout);
    // Another token, the same secret.
    writeFileSync(rig.tokenFile, BOT_TOKEN);
    expect((await rig.cli(['repo', 'set', 'team/app', ...rig.forgeFlags()])).stdout).toContain(
      renewed.stdout,
    );
    expect((await rig.cli(['repo', 'set', 'team/app', '--forge', 'none'])).code).toBe(0);
    expect(await rig.cli(['repo', 'webhook', 'team/app'])).toMatchObject({ code: 66 });
  });

  it('works before the server was ever started, but for the address', async () => {
    rig = await ForgeE2eRig.start();
    rig.vole.server.kill('SIGTERM');
    await rig.vole.server.ended;
    const { stdout, stderr } = await add();
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^webhook: \/hooks\/gitea\/team\/app \(on the server's --public-url\)$/m);
    const secret = /^secret: {2}([0-9a-f]{64})$/m.exec(stdout)?.[1];
    await rig.vole.startServer();
    const { stdout: shown } = await rig.cli(['repo', 'webhook', 'team/app', '--json']);
    expect(JSON.parse(shown)).toEqual({
      webhook: { url: `${rig.vole.facts.http}/hooks/gitea/team/app`, secret },
    });
  });

  it('names what is missing or cannot be', async () => {
    rig = await ForgeE2eRig.start();
    const tell = async (args: readonly string[]) =>
      (await rig.cli(['repo', 'add', 'team/x', '/x', ...args])).stderr;
    expect(await tell(['--forge', 'gitea'])).toBe('vole: --forge needs --forge-url\n');
    expect(await tell(['--forge', 'github'])).toBe('vole: --forge needs --forge-token-file\n');
    expect(await tell(['--forge-url', 'http://x'])).toBe('vole: --forge-url needs --forge\n');
    const flags = ['--forge-url', 'http://x', '--forge-token-file', '/t'];
    const known = 'a forge is one of gitea, forgejo, github';
    expect(await tell(['--forge', 'svn', ...flags])).toBe(`vole: --forge: "svn" is not allowed: ${known}\n`);
    expect(await tell(['--forge', 'svn'])).toContain(known);
    const url = 'it is an http:// or https:// URL without user, query and fragment';
    expect(await tell(['--forge', 'gitea', '--forge-url', 'ftp://x', '--forge-token-file', '/t'])).toBe(
      `vole: --forge-url: "ftp://x" is not allowed: ${url}\n`,
    );
    expect(await tell(['--forge', 'gitea', ...flags, '--forge-project', 'x'])).toMatch(
      /^vole: --forge-project: "x" is not allowed: /,
    );
  });
});

describe('vole tasks', () => {
  it('shows what was given up and why, and tries it again', async () => {
    rig = await ForgeE2eRig.start();
    await rig.register();
    rig.git.push({ '.vole.yml': WORKFLOW });
    const issue = rig.project.issue(3);
    issue.locked = true;
    rig.forge.user(rig.project, 'alice', 'write');
    await rig.comment(3, 'alice', '/agent implement');
    await rig.vole.server.says(/a control task is given up/);
    const tasks = async (args: readonly string[]) =>
      (JSON.parse((await rig.cli(['tasks', ...args, '--json'])).stdout) as { tasks: ApiTask[] }).tasks;
    // Tried again once more when the command is queued.
    await until('the command to be queued', async () => (await rig.vole.runs())[0]?.state === 'queued');
    const open = async () => (await tasks(['ls'])).filter(({ state }) => state !== 'dead').length;
    await until('all to be done or dead', async () => (await open()) === 0);
    const [dead] = await tasks(['ls', '--dead']);
    expect(dead).toMatchObject({
      kind: 'comment',
      state: 'dead',
      error: expect.stringContaining('HTTP 423'),
    });
    expect((await rig.cli(['tasks'])).stdout).toMatch(
      /TASK +KIND +STATE.*\n(.*\n)*\d+ +comment +dead +1 +team\/app +1 +POST .*HTTP 423/,
    );
    issue.locked = false;
    expect((await rig.cli(['tasks', 'retry', String(dead?.id)])).stdout).toBe('1 task is tried again\n');
    await rig.forge.state.until('the comment', () => rig.project.commentsOf(3).length === 2);
    expect(await rig.cli(['tasks', 'retry', '999'])).toMatchObject({
      code: 66,
      stderr: 'vole: no dead task 999\n',
    });
    expect((await rig.cli(['tasks', 'retry'])).code).toBe(2);
    expect((await rig.cli(['tasks', 'retry', '--all'])).stdout).toBe('0 tasks are tried again\n');
    expect((await tasks(['ls', '--all'])).map(({ kind }) => kind).sort()).toEqual(['authorise', 'comment']);
  });
});

/** The bytes of all files below a directory, as text. */
function everything(dir: string): string {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => path.join(dir, name));
  return files
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true)
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n');
}
