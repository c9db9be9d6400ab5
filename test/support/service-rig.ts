import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ServiceSpec } from '../../src/shared/job-spec.ts';
import type { TestEngine } from './engine-rig.ts';
import { Cleanup } from './temp.ts';

/** The busybox image has no entry point. */
export function sh(script: string): string[] {
  return ['/bin/sh', '-c', script];
}

/** Answers every connection with what the script prints. */
export function answering(port: number, script: string): string {
  return `nc -ll -p ${port} -e /bin/sh -c '${script}'`;
}

/** A service of busybox that only waits, unless `over` says otherwise. */
export function serviceOf(engine: TestEngine, name: string, over: Partial<ServiceSpec> = {}): ServiceSpec {
  const waits = ['sleep', '600'];
  return {
    name,
    image: engine.image,
    env: {},
    command: waits,
    healthCheck: null,
    readyPorts: null,
    ...over,
  };
}

/** An image of these lines of a Dockerfile, until the test's end; files beside it by name. */
export async function imageOf(
  engine: TestEngine,
  cleanup: Cleanup,
  lines: readonly string[],
): Promise<string> {
  const tag = `vole-test-service:${randomBytes(6).toString('hex')}`;
  const dir = cleanup.tempDir('vole-image-');
  writeFileSync(path.join(dir, 'Dockerfile'), `${lines.join('\n')}\n`);
  await engine.call('build', '--quiet', '--tag', tag, dir);
  cleanup.defer(async () => {
    await engine.call('rmi', '--force', tag);
  });
  return tag;
}

/** Names of the networks that carry this label. */
export async function networksWith(engine: TestEngine, label: string): Promise<string[]> {
  const listed = await engine.call('network', 'ls', '--format', '{{.Name}}', '--filter', `label=${label}`);
  return listed.split('\n').filter(Boolean);
}
