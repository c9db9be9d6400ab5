// What a job in a container costs against the engine alone, both measured in turns within one run: a job
// of `true` from its lease to its durable record against `docker run --rm IMAGE true`, at 1 and 2 at once;
// and each further step against `docker exec`. `node bench/run.mjs containers [--json]` runs it, with
// `dist/` built. Needs docker and busybox (Debian: busybox-static); no registry is asked.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { benchRun } from '../src/cli/bench/bench-run.ts';
import { embeddedServer } from '../src/cli/embedded-server.ts';
import { engineEnv } from '../src/cli/runner/runner-options.ts';
import { newKeyPair } from '../src/runner/session/keys.ts';
import type { RunningServer } from '../src/server/server.ts';
import { Engine } from '../src/shared/engine/engine.ts';
import { isFinal } from '../src/shared/outcome.ts';
import { startProgram } from '../src/shared/platform/program.ts';
import { parsePublicKey } from '../src/shared/public-key.ts';

const ROUNDS = 7;
const JOBS_A_ROUND = 6;
const STEPS = 11;
const EXECS_A_ROUND = 10;
const TARGETS = { job: 1.3, step: 1.2 };
const LOOK_MS = 10;
const REPOSITORY = 'bench/containers';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');
const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/' };
const engine = new Engine({ name: 'docker', env: engineEnv({ env: process.env }) });

async function docker(...args: string[]): Promise<string> {
  const done = await engine.call(args);
  if (!done.ok) throw new Error(`docker ${args.join(' ')}: ${done.failure.why}`);
  return done.value;
}

async function buildImage(scratch: string): Promise<string> {
  const context = path.join(scratch, 'image');
  cpSync('/bin/busybox', path.join(context, 'busybox'));
  const lines = ['FROM scratch', 'COPY busybox /bin/busybox', 'RUN ["/bin/busybox", "--install", "/bin"]'];
  writeFileSync(path.join(context, 'Dockerfile'), `${lines.join('\n')}\n`);
  const tag = `vole-bench:${process.pid}`;
  await docker('build', '--quiet', '--tag', tag, context);
  return tag;
}

interface Timed {
  /** From the first lease to the last record. */
  readonly wallMs: number;
  /** Median from a job's lease to its record. */
  readonly eachMs: number;
}

/** Jobs of so many steps, queued together, until all have ended. */
async function runJobs(server: RunningServer, image: string, count: number, steps: number): Promise<Timed> {
  const commands = Array.from({ length: steps }, () => 'true');
  const made = await server.store.runs.createPipeline({
    repository: REPOSITORY,
    event: 'manual',
    ref: '',
    sha: '',
    trust: 'trusted',
    title: 'bench',
    fault: null,
    runs: Array.from({ length: count }, (_, i) =>
      benchRun(`j${i}`, { repository: REPOSITORY, image }, commands),
    ),
  });
  const runs = [];
  for (const id of made.runs) {
    for (;;) {
      const run = await server.store.runs.get(id);
      if (!run || !isFinal(run.state)) {
        await delay(LOOK_MS);
        continue;
      }
      if (run.state !== 'passed') throw new Error(`run ${id} of the bench: ${run.detail}`);
      runs.push({ from: run.startedAt ?? 0, to: run.endedAt ?? 0 });
      break;
    }
  }
  const wallMs = Math.max(...runs.map(({ to }) => to)) - Math.min(...runs.map(({ from }) => from));
  return { wallMs, eachMs: median(runs.map(({ from, to }) => to - from)) };
}

/** The same command by the engine alone, as many at once. */
async function runDocker(image: string, count: number, atOnce: number): Promise<Timed> {
  let left = count;
  const each: number[] = [];
  const start = performance.now();
  const loop = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      await docker('run', '--rm', '--pull', 'never', image, 'true');
      each.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  return { wallMs: performance.now() - start, eachMs: median(each) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function withRunner<T>(
  scratch: string,
  jobs: number,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const server = await embeddedServer(path.join(scratch, `data${jobs}`), env);
  const key = newKeyPair();
  const parsed = parsePublicKey(key.publicKey);
  if (!parsed.ok) throw new Error(parsed.fault);
  await server.store.accounts.addKey('bench', parsed.key.publicKey, parsed.key.fingerprint);
  const keyFile = path.join(scratch, `key${jobs}`);
  writeFileSync(keyFile, key.privateKey, { mode: 0o600 });
  const at = ['--server', `ssh://bench@${server.ssh.host}:${server.ssh.port}`, '--key', keyFile];
  const host = ['--host-key', server.fingerprint, '--dir', path.join(scratch, `dir${jobs}`)];
  const args = [
    bin,
    'runner',
    ...at,
    ...host,
    '--jobs',
    String(jobs),
    '--engine',
    'docker',
    '--log-level',
    'warn',
  ];
  const runner = startProgram(process.execPath, args, engineEnv({ env: process.env }));
  try {
    if (!(await runner.firstLine(60_000))) throw new Error(`no runner: ${runner.errors()}`);
    return await use(server);
  } finally {
    await runner.stop();
    await server.close();
  }
}

interface Row {
  readonly what: string;
  readonly voleMs: number;
  readonly dockerMs: number;
  readonly ratio: number;
  readonly target: number;
}

/** The median of the rounds' ratios: within a round both had the same machine. */
function row(what: string, pairs: readonly { vole: number; docker: number }[], target: number): Row {
  const of = (pick: (pair: { vole: number; docker: number }) => number): number =>
    Math.round(median(pairs.map(pick)) * 100) / 100;
  return {
    what,
    voleMs: of(({ vole }) => vole),
    dockerMs: of((pair) => pair.docker),
    ratio: of(({ vole, docker: alone }) => vole / alone),
    target,
  };
}

async function jobsAtOnce(scratch: string, image: string, atOnce: number): Promise<Row[]> {
  return await withRunner(scratch, atOnce, async (server) => {
    await runJobs(server, image, atOnce * 2, 1); // threads and code are warm after it
    const wall: { vole: number; docker: number }[] = [];
    const each: { vole: number; docker: number }[] = [];
    const count = JOBS_A_ROUND * atOnce;
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await runDocker(image, count, atOnce);
      const vole = await runJobs(server, image, count, 1);
      wall.push({ vole: vole.wallMs / count, docker: alone.wallMs / count });
      each.push({ vole: vole.eachMs, docker: alone.eachMs });
    }
    return [
      row(`a job, ${atOnce} at once: wall time for each`, wall, TARGETS.job),
      row(`a job, ${atOnce} at once: lease to record`, each, TARGETS.job),
    ];
  });
}

async function furtherStep(scratch: string, image: string): Promise<Row> {
  const name = `vole-bench-${process.pid}`;
  await docker('run', '--detach', '--pull', 'never', '--name', name, image, 'sleep', '86400');
  try {
    return await withRunner(path.join(scratch, 'steps'), 1, async (server) => {
      await runJobs(server, image, 2, 2);
      const pairs: { vole: number; docker: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const start = performance.now();
        for (let n = 0; n < EXECS_A_ROUND; n++) await docker('exec', name, 'true');
        const execMs = (performance.now() - start) / EXECS_A_ROUND;
        const one = await runJobs(server, image, 2, 1);
        const many = await runJobs(server, image, 2, STEPS);
        pairs.push({ vole: (many.eachMs - one.eachMs) / (STEPS - 1), docker: execMs });
      }
      return row('each further step, against docker exec', pairs, TARGETS.step);
    });
  } finally {
    await docker('rm', '--force', name);
  }
}

const scratch = mkdtempSync(path.join(os.tmpdir(), 'vole-bench-'));
const rows: Row[] = [];
let image: string | null = null;
try {
  for (const name of ['steps', 'image']) mkdirSync(path.join(scratch, name));
  image = await buildImage(scratch);
  for (const atOnce of [1, 2]) rows.push(...(await jobsAtOnce(scratch, image, atOnce)));
  rows.push(await furtherStep(scratch, image));
} finally {
  if (image) await docker('rmi', '--force', image);
  rmSync(scratch, { recursive: true, force: true });
}

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ bench: 'containers', cores: os.availableParallelism(), rows }));
} else {
  for (const { what, voleMs, dockerMs, ratio, target } of rows) {
    console.log(
      `${what.padEnd(42)} vole ${voleMs.toFixed(0).padStart(5)} ms, docker ${dockerMs.toFixed(0).padStart(5)} ms: ${ratio.toFixed(2)} (target ${target})`,
    );
  }
}
