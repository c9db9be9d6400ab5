import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Guards } from '../../src/shared/lock/guard.ts';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { directoryId, removeLeftAtEnd } from '../support/image-rig.ts';
import { OwnEngine } from '../support/own-engine.ts';
import { until } from '../support/until.ts';
import { vole } from '../support/vole-process.ts';

const engine = useEngine();
let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
  removeLeftAtEnd(rig.cleanup, engine(), dir());
});
afterEach(() => rig?.close());

const project = path.resolve(import.meta.dirname, '../..');
const dir = () => path.join(rig.root, 'dir');
const image = () => engine().image;

function entries(folder: string): string[] {
  const at = path.join(dir(), folder);
  return existsSync(at) ? readdirSync(at) : [];
}

/** Containers of this rig's directory. */
async function containers(): Promise<string[]> {
  return await engine().containers(`vole.directory=${directoryId(dir())}`);
}

const passes = async (id: number) => expect(await rig.ended(id)).toMatchObject({ state: 'passed' });

it('vole run executes a job in a container of its image', async () => {
  const repository = await rig.repository('o/r', { a: { image: image(), steps: ['echo hi from $(pwd)'] } });
  const done = await vole(['run', '--dir', dir()], { cwd: repository });
  expect(done.stdout).toContain('a | hi from /workspace');
  expect(done.code).toBe(0);
  expect(await containers()).toEqual([]);
});

describe('a runner', () => {
  it('whose engine does not answer says what to do and does not start, and starts without by itself', async () => {
    const env = { DOCKER_HOST: `unix://${rig.root}/none.sock` };
    const named = rig.runner(['--engine', 'docker'], env);
    expect((await named.ended).code).toBe(69);
    expect(named.stderr).toMatch(/--engine docker: .*; start it: `systemctl start docker`/);
    await rig.repository('o/r', { a: { image: image(), steps: ['true'] }, b: { steps: ['true'] } });
    const [contained = 0, host = 0] = await rig.submit('o/r');
    await rig.runner(['--engine', 'auto'], { ...env, PATH: onlyDocker() }).says(/ready/);
    expect(await rig.ended(contained)).toMatchObject({ state: 'refused' });
    expect((await rig.run(contained)).detail).toMatch(/this runner has no container engine/);
    await passes(host);
  });

  it('says which engine it has', async () => {
    await rig.runner().says(/ready/);
    const sessions = (await rig.machines()).flatMap((machine) => machine.sessions);
    expect(sessions[0]).toMatchObject({ engine: engine().facts.name });
  });

  it('runs jobs of two images at once, each with a cache of its own that the next job finds', async () => {
    const job = (of: string): Job => ({
      image: of,
      steps: ['cat /cache/mine || true; echo $VOLE_JOB >/cache/mine'],
    });
    await rig.repository('o/r', { a: job(image()), b: job(engine().toolsImage) });
    await rig.runner(['--jobs', '2']).says(/ready/);
    const first = await rig.submit('o/r');
    for (const id of first) await passes(id);
    const [a = 0, b = 0] = await rig.submit('o/r');
    await passes(a);
    await passes(b);
    expect([await rig.output(a), await rig.output(b)]).toEqual(['a', 'b']);
  });
});

/** A PATH without podman, whose answer would be another. */
function onlyDocker(): string {
  const bin = path.join(rig.root, 'bin');
  mkdirSync(bin);
  for (const name of ['git', 'mkfifo', 'sh', 'docker', 'node']) {
    const found = execFileSync('sh', ['-c', `command -v ${name} || true`], { encoding: 'utf8' }).trim();
    if (found) execFileSync('ln', ['-s', found, path.join(bin, name)]);
  }
  return `${bin}:/bin`;
}

describe('an unprivileged runner', () => {
  const UID = 23_456;

  /** `vole runner` as another user, who may speak to the engine. */
  function unprivileged(args: string[]) {
    const socket = statSync('/var/run/docker.sock').gid;
    for (const folder of [rig.root, dir()]) {
      mkdirSync(folder, { recursive: true });
      chmodSync(folder, 0o755);
    }
    chownSync(dir(), UID, UID);
    execFileSync('cp', [rig.keyFile, `${rig.keyFile}.other`]);
    chownSync(`${rig.keyFile}.other`, UID, UID);
    const home = path.join(rig.root, 'home');
    mkdirSync(home, { recursive: true });
    chownSync(home, UID, UID);
    execFileSync('chmod', ['-R', 'a+rX', path.join(rig.root, 'repos')]);
    // The project may stand where that user may not go: it is shown at a place where it may.
    const place = path.join(rig.root, 'vole');
    mkdirSync(place, { recursive: true });
    const as = `setpriv --reuid=${UID} --regid=${UID} --groups=${socket}`;
    const start = `mount --bind "$1" "$2" && cd / && shift && exec ${as} "$0" "$1"/bin/vole.cjs "\${@:2}"`;
    const command = ['unshare', '--mount', 'bash', '-c', start, process.execPath, project, place];
    const runner = rig.runner(['--key', `${rig.keyFile}.other`, ...args], { HOME: home }, command);
    /** `vole cache` as the same user. */
    const cache = (what: string) => {
      const [program, ...rest] = [...command, 'cache', what, '--dir', dir()];
      return spawnSync(program, rest, { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: home } });
    };
    return Object.assign(runner, { cache });
  }

  const messy =
    'mkdir -p src/deep /cache/deep; echo x >src/deep/file; echo x >/cache/deep/file; echo x >/tmp/file; chmod 700 src/deep /cache/deep';

  it("removes a tree that a container has filled as root, and sends its artifacts, root's own too", async () => {
    await rig.repository('o/r', {
      a: {
        image: image(),
        steps: [messy, 'chmod 600 src/deep/file'],
        artifacts: [{ name: 'out', paths: ['src/deep/file'] }],
      },
    });
    const runner = unprivileged([]);
    await runner.says(/ready/);
    for (let round = 0; round < 2; round++) {
      const [id = 0] = await rig.submit('o/r');
      await passes(id);
    }
    await until('the trees to be gone', () => entries('jobs').length + entries('trash').length === 0);
    expect(runner.stderr).not.toMatch(/cannot delete/);
    const cleared = runner.cache('clear');
    expect(cleared).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^namespaces: removed 1 \(.*\)\n/),
      stderr: '',
    });
    expect([...entries('cache'), ...entries('trash')]).toEqual([]);
  });

  it('removes what a killed one left, and a cache that is full of it', async () => {
    await rig.repository('o/r', { a: { image: image(), steps: [`${messy}; echo begun; sleep 60`] } });
    const [id = 0] = await rig.submit('o/r');
    const runner = unprivileged([]);
    await rig.logHas(id, 'begun');
    runner.kill('SIGKILL');
    await runner.ended;
    expect(await containers()).toHaveLength(1);
    const next = unprivileged(['--no-cache', '--repos', 'o/r']);
    await next.says(/ready/);
    await rig.runIs(id, (run) => run.attempt === 2);
    await rig.api('POST', `/api/runs/${id}/cancel`);
    await rig.ended(id);
    await until(
      'the directory to be clean',
      () => [...entries('jobs'), ...entries('trash'), ...entries('cache')].length === 0,
    );
    expect(await containers()).toEqual([]);
  });
});

it('steps run as the user that --container-user says, and can write where they are to write', async () => {
  const write = 'id -u; touch a .git/b /cache/c /tmp/d "$HOME/e"';
  await rig.repository('o/r', {
    a: { checkout: true, image: engine().toolsImage, steps: [write, 'git status --short'] },
  });
  await rig.runner(['--container-user', 'dev']).says(/ready/);
  for (let round = 0; round < 2; round++) {
    const [id = 0] = await rig.submit('o/r');
    await passes(id);
    expect(await rig.output(id)).toBe('1000\n?? a');
  }
});

describe('an engine that is ended in mid-job', () => {
  OwnEngine.need();

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s fails the job and nothing else, and what it left is removed when it is back',
    async (signal) => {
      const own = await OwnEngine.start(rig.cleanup, engine());
      const gate = path.join(rig.root, 'gate');
      await rig.repository('o/r', {
        contained: { image: image(), steps: ['echo begun; sleep 600'] },
        host: { steps: [`echo begun; until [ -e ${gate} ]; do sleep 0.05; done`] },
      });
      const runner = rig.runner(['--jobs', '2', '--engine', 'docker'], { DOCKER_HOST: own.host });
      const [contained = 0, host = 0] = await rig.submit('o/r');
      await rig.logHas(contained, 'begun');
      await rig.logHas(host, 'begun');
      const [namespace = ''] = entries('cache').filter(
        (name) => name.startsWith('o-r') && !name.endsWith('.json'),
      );
      await own.end(signal);
      const failed = await rig.ended(contained);
      expect(failed).toMatchObject({ state: 'failed', reason: 'engine' });
      expect(failed.detail).not.toContain('\n');
      writeFileSync(gate, '');
      await passes(host);
      if (signal === 'SIGKILL') {
        // What it ran goes on without it, so nobody may have its cache.
        expect(new Guards(path.join(dir(), 'locks')).try(`cache-${namespace}`, 'exclusive')).toBeNull();
      }
      await own.start();
      await until('its tree to be gone', () => entries('jobs').length === 0);
      const left = await own.engine.call(['ps', '--all', '--quiet']);
      expect(left).toEqual({ ok: true, value: '' });
      const [again = 0] = await rig.submit('o/r', ['contained']);
      await rig.logHas(again, 'begun');
      await rig.api('POST', `/api/runs/${again}/cancel`);
      expect(await rig.ended(again)).toMatchObject({ state: 'cancelled' });
      runner.kill('SIGTERM');
      expect((await runner.ended).code).toBe(0);
    },
  );
});
