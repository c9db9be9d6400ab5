import { describe, expect, it } from 'vitest';
import { failureOf, reasonOf } from '../../../../src/shared/engine/failure.ts';

const failed = {
  ok: false,
  exitCode: 1,
  signal: null,
  stdout: '',
  stderr: '',
  missing: false,
  timedOut: false,
  aborted: false,
  why: 'exit 1',
};

it.each([
  ['unreachable', 'Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?'],
  ['unreachable', 'error during connect: Get "http://x": EOF'],
  ['unreachable', 'Cannot connect to Podman. Please verify your connection to the Linux system'],
  ['denied', 'permission denied while trying to connect to the Docker daemon socket at unix:///x'],
  ['no-image', 'docker: Error response from daemon: No such image: nosuch:1'],
  ['no-image', "Unable to find image 'nosuch:1' locally"],
  ['no-image', 'Error: nosuch: image not known'],
  ['gone', 'Error response from daemon: No such container: x'],
  ['gone', 'Error response from daemon: network x not found'],
  ['gone', 'Error response from daemon: Container 0123 is not running'],
  ['gone', 'Error: no container with name or ID "x" found: no such container'],
  ['gone', 'Error: can only create exec sessions on running containers: container state improper'],
  ['failed', 'Error response from daemon: Conflict. The container name "/x" is already in use'],
] as const)('%s: %s', (reason, said) => {
  expect(reasonOf(said)).toBe(reason);
});

describe('why it failed', () => {
  it('is one line in the engine’s own words, without prefix, warnings and hints', () => {
    const stderr = [
      'WARNING: Error loading config file: open /root/.docker/config.json: permission denied',
      'docker: Error response from daemon: No such image: nosuch:1',
      '',
      "Run 'docker run --help' for more information",
    ].join('\n');
    expect(failureOf('docker', { ...failed, stderr })).toEqual({
      reason: 'no-image',
      why: 'No such image: nosuch:1',
    });
  });

  it('is not docker’s notice of an old builder', () => {
    const stderr = [
      'DEPRECATED: The legacy builder is deprecated and will be removed in a future release.',
      '            Install the buildx component to build images with BuildKit:',
      '            https://docs.docker.com/go/buildx/',
      '',
      'COPY failed: forbidden path outside the build context: ../x ()',
    ].join('\n');
    expect(failureOf('docker', { ...failed, stderr }).why).toBe(
      'COPY failed: forbidden path outside the build context: ../x ()',
    );
  });

  it('is said where the engine says nothing', () => {
    expect(failureOf('podman', { ...failed, missing: true }).why).toMatch(/^podman is not on this host/);
    expect(failureOf('docker', { ...failed, timedOut: true })).toMatchObject({ reason: 'timeout' });
    expect(failureOf('docker', { ...failed, aborted: true })).toMatchObject({ reason: 'stopped' });
    expect(failureOf('docker', failed)).toEqual({ reason: 'failed', why: 'docker: exit 1' });
  });
});
