import { describe, expect, it } from 'vitest';
import { type ContainerSpec, runArguments } from '../../../../src/shared/engine/containers.ts';
import { engineName, labelsOf } from '../../../../src/shared/engine/owned.ts';

const owner = {
  directory: 'd1',
  process: '42-ab',
  pid: 42,
  pidStart: '7',
  run: 3,
  attempt: 2,
  server: 's1',
};

const spec: ContainerSpec = {
  name: engineName(owner),
  labels: labelsOf(owner),
  image: 'debian:12',
  limits: { memoryBytes: null, cpus: null, pids: null },
  user: null,
  mounts: [],
  network: null,
  command: ['/bin/sh', '-c', 'wait'],
};

/** The values of a flag that may stand several times. */
function valuesOf(args: readonly string[], flag: string): string[] {
  return args.flatMap((arg, at) => (arg === flag ? [args[at + 1] ?? ''] : []));
}

describe('a container’s command line', () => {
  it('carries run, attempt, process, start time and directory in name and labels', () => {
    const args = runArguments(spec, 'docker');
    expect(valuesOf(args, '--name')).toEqual(['vole-3-2.42-ab.d1']);
    expect(valuesOf(args, '--label').sort()).toEqual([
      'vole.attempt=2',
      'vole.directory=d1',
      'vole.pid-start=7',
      'vole.pid=42',
      'vole.process=42-ab',
      'vole.run=3',
      'vole.server=s1',
    ]);
    expect(engineName(owner, 'db')).toBe('vole-3-2.42-ab.d1.db');
  });

  it('ends with the image and what it runs, has no environment, and pulls nothing', () => {
    const args = runArguments(spec, 'docker');
    expect(args.slice(-3)).toEqual(['debian:12', '-c', 'wait']);
    expect(valuesOf(args, '--entrypoint')).toEqual(['/bin/sh']);
    expect(valuesOf(args, '--pull')).toEqual(['never']);
    expect(args.filter((arg) => /^(-e|--env|--env-file|--privileged|-v|--volume)(=|$)/.test(arg))).toEqual(
      [],
    );
  });

  it('has the limits that are set and no others, and as much swap as memory: none', () => {
    const limits = { memoryBytes: 64, cpus: 0.5, pids: 10 };
    const args = runArguments({ ...spec, limits, user: 'dev', network: 'n', aliases: ['db'] }, 'docker');
    const flags = [
      '--memory',
      '--memory-swap',
      '--cpus',
      '--pids-limit',
      '--user',
      '--network',
      '--network-alias',
    ];
    expect(flags.map((flag) => valuesOf(args, flag).join())).toEqual([
      '64',
      '64',
      '0.5',
      '10',
      'dev',
      'n',
      'db',
    ]);
    expect(runArguments(spec, 'docker').filter((arg) => flags.includes(arg))).toEqual([]);
  });

  it('mounts a folder whatever is in its name', () => {
    const mounts = [
      { host: '/a, b "c"', inside: '/x' },
      { host: '/a', inside: '/y', readOnly: true },
    ];
    expect(valuesOf(runArguments({ ...spec, mounts }, 'docker'), '--mount')).toEqual([
      'type=bind,"source=/a, b ""c""",target=/x',
      'type=bind,source=/a,target=/y,readonly',
    ]);
  });

  it('of an image that runs what it says leaves its program alone, and bounds its log', () => {
    const args = runArguments({ ...spec, command: null }, 'docker');
    expect(args.at(-1)).toBe('debian:12');
    expect(args).not.toContain('--entrypoint');
    expect(args.join(' ')).toContain('--log-driver json-file --log-opt max-size=');
  });
});
