import { describe, expect, it } from 'vitest';
import { isImageFile } from '../../../src/shared/image-file.ts';
import { builtTag, isImageName, mayBeBuiltHere } from '../../../src/shared/image-name.ts';

const DIGEST = `sha256:${'0'.repeat(64)}`;

describe('the name of an image', () => {
  it.each([
    'debian',
    'debian:12',
    'node:22-bookworm_slim.1',
    'library/node',
    'ghcr.io/owner/name:1',
    'localhost/a:b',
    'localhost:5000/a/b',
    '127.0.0.1:5000/app:1',
    'registry:5000/a__b/c---d',
    'docker:20.10',
    'docker.io/library/docker',
    `debian@${DIGEST}`,
    `debian:12@${DIGEST}`,
  ])('may be %s', (name) => {
    expect(isImageName(name)).toBe(true);
    expect(mayBeBuiltHere(name)).toBe(false);
  });

  it.each([
    '',
    '--privileged',
    '-v/:/host',
    'Debian',
    'debian:',
    'debian:12:13',
    'debian@sha256:00',
    'a b',
    'a\nb',
    './a',
    '../a',
    '/a',
    'a//b',
    'a/',
    // Where podman would take files of the host.
    'dir:/etc',
    'oci:/var/lib/x',
    'docker-archive:/tmp/x.tar',
    'containers-storage:name',
    'docker://debian',
    'a'.repeat(401),
  ])('is not %j', (name) => {
    expect(isImageName(name)).toBe(false);
  });

  it('that may lead to what was built here is known', () => {
    const built = ['sha256:0123', '0123456789ab', 'ABC', builtTag('team-app-01', 'ab'), 'vole-built/x:ab'];
    expect(built.map(mayBeBuiltHere)).toEqual(built.map(() => true));
    expect(['cafe:1', 'ada:latest', 'team/ada', 'vole-builder'].map(mayBeBuiltHere)).toEqual(
      Array.from({ length: 4 }, () => false),
    );
  });
});

describe('an image-file', () => {
  it('is a path within the checkout', () => {
    expect(['Dockerfile', 'ci/Dockerfile', 'a b/é/x.Dockerfile'].map(isImageFile)).toEqual([
      true,
      true,
      true,
    ]);
    const not = ['', '/Dockerfile', '../Dockerfile', 'a/../b', 'a//b', './a', 'a/', '.git/config', 'a\nb'];
    expect(not.map(isImageFile)).toEqual(not.map(() => false));
  });
});
