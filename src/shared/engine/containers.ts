import { setTimeout as delay } from 'node:timers/promises';
import type { Engine, EngineCallOptions } from './engine.ts';
import type { ContainerLimits, Mount } from './job-container.ts';
import { labelArguments } from './owned.ts';
import type { EngineName, EngineReply } from './types.ts';

/** One container that is to run until it is removed. */
export interface ContainerSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly limits: ContainerLimits;
  readonly user: string | null;
  readonly mounts: readonly Mount[];
  /** Name of a network made for the job; null is the engine's default one. */
  readonly network: string | null;
  /** Names by which others on `network` find it. */
  readonly aliases?: readonly string[];
  /** Program in place of the image's entry point, and its arguments; null runs what the image says. */
  readonly command: readonly [string, ...string[]] | null;
  /** For the image's own entry point, where `command` is null; left out, the image's own too. */
  readonly arguments?: readonly string[];
  /** A file that whoever makes it can read, of lines `NAME=VALUE`; see `serviceFaults` for what it cannot say. */
  readonly envFile?: string;
}

/** What is known of a container's main process. */
export interface ContainerState {
  readonly id: string;
  readonly running: boolean;
  /** Of its main process; meaningless while it runs. */
  readonly exitCode: number;
  /** The engine's word; it does not notice what befell a process that was started by `exec`. */
  readonly oomKilled: boolean;
  /** That its processes run as, as it was said or as the image says; empty is root. */
  readonly user: string;
  /** Its main process as this host's pid namespace has it; 0 where it does not run. */
  readonly pid: number;
}

/** What a service says is kept for when it fails, and bounded, whatever the engine's own default is. */
const KEPT_LOG = ['--log-driver', 'json-file', '--log-opt', 'max-size=4m'];

/** The command line that makes and starts a container, never pulling its image. */
export function runArguments(spec: ContainerSpec, engine: EngineName): string[] {
  const { limits, command } = spec;
  const [program, ...rest] = command ?? [null];
  return [
    'run',
    '--detach',
    // Podman alone gives its client's proxies to every container.
    ...(engine === 'podman' ? ['--http-proxy=false'] : []),
    '--pull',
    'never',
    '--name',
    spec.name,
    ...labelArguments(spec.labels),
    // Nobody reads what the main process of a job's container says; a step's output does not go there.
    // It is told nothing either: an engine that is being stopped need not wait for it.
    ...(command === null
      ? KEPT_LOG
      : ['--log-driver', 'none', '--stop-signal', 'KILL', '--entrypoint', program ?? '']),
    ...(spec.envFile === undefined ? [] : ['--env-file', spec.envFile]),
    ...(limits.memoryBytes === null
      ? []
      : // The same for both: no swap beside it, so that the limit is the limit.
        ['--memory', String(limits.memoryBytes), '--memory-swap', String(limits.memoryBytes)]),
    ...(limits.cpus === null ? [] : ['--cpus', String(limits.cpus)]),
    ...(limits.pids === null ? [] : ['--pids-limit', String(limits.pids)]),
    ...(spec.user === null ? [] : ['--user', spec.user]),
    ...(spec.network === null ? [] : ['--network', spec.network]),
    ...(spec.aliases ?? []).flatMap((alias) => ['--network-alias', alias]),
    ...spec.mounts.flatMap((mount) => ['--mount', mountArgument(mount)]),
    spec.image,
    ...(command === null ? (spec.arguments ?? []) : rest),
  ];
}

/** A field of a `--mount` is one of CSV: quoted, since a directory may have a comma in its name. */
function mountArgument({ host, inside, readOnly }: Mount): string {
  const field = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const fields = ['type=bind', field(`source=${host}`), field(`target=${inside}`)];
  return [...fields, ...(readOnly ? ['readonly'] : [])].join(',');
}

/** Makes and starts it; gives its id. Abort nothing here: an engine may go on without its client. */
export async function startContainer(
  engine: Engine,
  spec: ContainerSpec,
  options: EngineCallOptions = {},
): Promise<EngineReply<string>> {
  return await engine.call(runArguments(spec, engine.name), options);
}

/** Somebody else is just removing it. */
const BEING_REMOVED = /already in progress/i;
const LOOK_AGAIN_MS = 100;

/** Ends and removes containers with what runs in them; that one is not there is no failure. */
export async function removeContainers(
  engine: Engine,
  names: readonly string[],
  options: EngineCallOptions = {},
): Promise<EngineReply<null>> {
  return await removeNamed(engine, ['rm', '--force', '--volumes'], names, options);
}

/**
 * `COMMAND NAMES`. Of several that fail each is asked for again, since the words of one failure hide
 * those of another.
 */
export async function removeNamed(
  engine: Engine,
  command: readonly string[],
  names: readonly string[],
  options: EngineCallOptions,
): Promise<EngineReply<null>> {
  const done = { ok: true, value: null } as const;
  if (names.length === 0) return done;
  const removed = await engine.call([...command, ...names], options);
  if (removed.ok) return done;
  if (names.length === 1) {
    if (removed.failure.reason === 'gone') return done;
    if (!BEING_REMOVED.test(removed.failure.why)) return removed;
    await delay(LOOK_AGAIN_MS);
    return await removeNamed(engine, command, names, options);
  }
  const each = await Promise.all(names.map((one) => removeNamed(engine, command, [one], options)));
  return each.find((reply) => !reply.ok) ?? done;
}

/** Null where there is no such container. */
export async function containerState(
  engine: Engine,
  name: string,
  options: EngineCallOptions = {},
): Promise<EngineReply<ContainerState | null>> {
  const format =
    '{{.Id}} {{.State.Running}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.State.Pid}} {{.Config.User}}';
  const said = await engine.call(['inspect', '--type', 'container', '--format', format, name], options);
  if (!said.ok) return said.failure.reason === 'gone' ? { ok: true, value: null } : said;
  const [id = '', running, exitCode, oomKilled, pid, user = ''] = said.value.split(' ');
  return {
    ok: true,
    value: {
      id,
      running: running === 'true',
      exitCode: Number(exitCode),
      oomKilled: oomKilled === 'true',
      pid: Number(pid),
      user,
    },
  };
}

/**
 * Runs a script by the container's `/bin/sh`, as its root whatever user its steps are; gives what it
 * printed. `args` are its `$1`, `$2` and so on; no secret may stand in either.
 */
export async function execScript(
  engine: Engine,
  name: string,
  script: string,
  args: readonly string[] = [],
  options: EngineCallOptions = {},
): Promise<EngineReply<string>> {
  return await engine.call(['exec', '--user', '0', name, '/bin/sh', '-c', script, 'vole', ...args], options);
}
