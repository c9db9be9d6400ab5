import { expect, it } from 'vitest';
import { buildArguments } from '../../../../src/worker/container/build.ts';

const facts = {
  dir: '/jobs/1/image-context',
  file: 'Dockerfile',
  idFile: '/jobs/1/image-id',
  tag: 'localhost/vole-built/team-app-01:ab',
  labels: { 'vole.image': 'team-app-01' },
  limits: { memoryBytes: null, cpus: null, pids: 100 },
  cacheScope: null,
  pull: false,
};

it('a build says no more than it must', () => {
  expect(buildArguments(facts).join(' ')).toBe(
    'build --force-rm --file /jobs/1/image-context/Dockerfile --iidfile /jobs/1/image-id' +
      ' --tag localhost/vole-built/team-app-01:ab --label vole.image=team-app-01 /jobs/1/image-context',
  );
});

it('a build has the bounds of a container, its own caches, and a pull where one is asked for', () => {
  const limits = { memoryBytes: 1024, cpus: 1.5, pids: null };
  const said = buildArguments({ ...facts, limits, cacheScope: 'team-app-02', pull: true }).join(' ');
  expect(said).toContain(
    '--pull --build-arg BUILDKIT_CACHE_MOUNT_NS=team-app-02' +
      ' --memory 1024 --memory-swap 1024 --cpu-period 100000 --cpu-quota 150000 /jobs',
  );
});
