import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, beforeEach } from 'vitest';
import { engineEnv } from '../../src/cli/runner/runner-options.ts';
import { Engine } from '../../src/shared/engine/engine.ts';
import { ENGINES, type EngineFacts } from '../../src/shared/engine/types.ts';
import { Guards } from '../../src/shared/lock/guard.ts';

const BUSYBOX = '/bin/busybox';

/**
 * `VOLE_TEST_ENGINE`: `docker` or `podman` takes that one, `required` any; all three fail the tests where
 * it does not answer. Without it they are skipped there, and the run says how many and why.
 */
const wanted = process.env['VOLE_TEST_ENGINE'] ?? '';

/** The engine of this host, and images made of its own files: no registry is asked. */
export interface TestEngine {
  readonly facts: EngineFacts;
  readonly engine: Engine;
  /** Busybox and nothing else: no passwd, no bash. */
  readonly image: string;
  /** Busybox with bash and git. */
  readonly toolsImage: string;
  /** `docker ARGS`; fails the test where that does. */
  call(...args: string[]): Promise<string>;
  /** Names of all containers that carry this label. */
  containers(label: string): Promise<string[]>;
}

type Found = { ok: true; engine: TestEngine } | { ok: false; why: string };

/** For the tests of a file or describe; to be called in it. The engine is there once a test runs. */
export function useEngine(): () => TestEngine {
  let found: Found | null = null;
  beforeAll(async () => {
    found = await findEngine();
  }, 180_000);
  beforeEach((context) => {
    if (found?.ok) return;
    const why = `no container engine: ${found?.why}`;
    if (wanted !== '') throw new Error(`${why} (VOLE_TEST_ENGINE=${wanted})`);
    context.skip(why);
  });
  return () => {
    if (!found?.ok) throw new Error('no engine');
    return found.engine;
  };
}

/** The engine that the tests use, or why there is none. */
export async function findEngine(): Promise<Found> {
  const whys: string[] = [];
  const env = engineEnv({ env: process.env });
  for (const name of ENGINES) {
    if (wanted !== '' && wanted !== 'required' && wanted !== name) continue;
    const facts = { name, env };
    const engine = new Engine(facts);
    const answer = await engine.ping();
    if (!answer.ok) {
      whys.push(answer.failure.why);
      continue;
    }
    if (!existsSync(BUSYBOX)) return { ok: false, why: `${BUSYBOX} is not there (Debian: busybox-static)` };
    return { ok: true, engine: await testEngine(facts) };
  }
  return { ok: false, why: whys.join('; ') };
}

async function testEngine(facts: EngineFacts): Promise<TestEngine> {
  const engine = new Engine(facts);
  const call = async (...args: string[]): Promise<string> => {
    const done = await engine.call(args, { timeoutMs: 120_000 });
    if (!done.ok) throw new Error(`${facts.name} ${args.join(' ')}: ${done.failure.why}`);
    return done.value;
  };
  const image = await built(engine, 'busybox', busyboxContext);
  const toolsImage = await built(engine, 'tools', (dir) => toolsContext(dir, image));
  const containers = async (label: string): Promise<string[]> => {
    const listed = await call('ps', '--all', '--format', '{{.Names}}', '--filter', `label=${label}`);
    return listed.split('\n').filter(Boolean).sort();
  };
  return { facts, engine, image, toolsImage, call, containers };
}

/** Once on this machine, whichever test process asks first; the tag names what is in it. */
async function built(engine: Engine, name: string, fill: (dir: string) => void): Promise<string> {
  const locks = path.join(os.tmpdir(), 'vole-test-images');
  mkdirSync(locks, { recursive: true });
  const dir = mkdtempSync(path.join(os.tmpdir(), 'vole-test-image-'));
  const alone = await new Guards(locks).exclusive(`image-${name}`);
  try {
    fill(dir);
    const key = createHash('sha256').update(readFileSync(path.join(dir, 'Dockerfile')));
    const tag = `vole-test-${name}:${key.update(readFileSync(BUSYBOX)).digest('hex').slice(0, 12)}`;
    const there = await engine.call(['image', 'inspect', '--format', '{{.Id}}', tag]);
    if (there.ok) return tag;
    const made = await engine.call(['build', '--quiet', '--tag', tag, dir], { timeoutMs: 120_000 });
    if (!made.ok) throw new Error(`image ${tag}: ${made.failure.why}`);
    return tag;
  } finally {
    alone.release();
    rmSync(dir, { recursive: true, force: true });
  }
}

function busyboxContext(dir: string): void {
  cpSync(BUSYBOX, path.join(dir, 'busybox'));
  const lines = ['FROM scratch', 'COPY busybox /bin/busybox', 'RUN ["/bin/busybox", "--install", "/bin"]'];
  writeFileSync(path.join(dir, 'Dockerfile'), `${lines.join('\n')}\n`);
}

/** The host's bash and git with the libraries that they name. A user `dev` beside root. */
function toolsContext(dir: string, base: string): void {
  const root = path.join(dir, 'root');
  const programs = ['/bin/bash', '/usr/bin/git', '/usr/bin/setsid'];
  const libraries = programs.flatMap((program) => librariesOf(program));
  for (const file of [...programs, ...libraries]) {
    cpSync(file, path.join(root, file), { dereference: true });
  }
  mkdirSync(path.join(root, 'etc'));
  mkdirSync(path.join(root, 'home/dev'), { recursive: true });
  writeFileSync(
    path.join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\n',
  );
  writeFileSync(path.join(root, 'etc/group'), 'root:x:0:\ndev:x:1000:\n');
  const said = execFileSync('git', ['--version'], { encoding: 'utf8' }).trim();
  const lines = [`FROM ${base}`, `LABEL git="${said}"`, 'COPY root/ /', 'RUN chown -R 1000:1000 /home/dev'];
  writeFileSync(path.join(dir, 'Dockerfile'), `${lines.join('\n')}\n`);
}

function librariesOf(program: string): string[] {
  const said = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...said.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] ?? '').filter(Boolean);
}
