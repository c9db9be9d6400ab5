import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ComposeService, compose } from '../support/compose.ts';
import { Cleanup } from '../support/temp.ts';
import { VoleProcess } from '../support/vole-process.ts';

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

let cleanup: Cleanup;
let root: string;
beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-compose-');
  for (const folder of ['data', 'keys', 'vole', 'bin', 'run/secrets']) {
    mkdirSync(path.join(root, folder), { recursive: true, mode: 0o700 });
  }
  symlinkSync(bin, path.join(root, 'bin/vole'));
});
afterEach(() => cleanup.run());

/** A text of the file with the containers' folders and addresses as they are on this host. */
const here = (text: string, ports: Readonly<Record<string, string>> = {}): string => {
  const folders = text.replaceAll(/(^|[\s=])\/(data|keys|vole|run)(?=[/\s]|$)/g, `$1${root}/$2`);
  return Object.entries(ports).reduce((done, [from, to]) => done.replace(from, to), folders);
};

function startService(service: ComposeService | undefined, ports: Record<string, string>): VoleProcess {
  const env = Object.fromEntries(
    Object.entries(service?.environment ?? {}).map(([name, value]) => [name, here(value, ports)]),
  );
  const started = new VoleProcess(service?.command ?? [], { env });
  cleanup.defer(() => started.destroy());
  return started;
}

it('what packaging/compose.yaml sets up knows each other: keys, then the server, then a runner for agents', async () => {
  const { services } = compose({
    VOLE_AGENT_URL: 'http://127.0.0.1:9/v1',
    AGENTCI_PLAN_MODEL: 'plan',
    AGENTCI_BUILD_MODEL: 'build',
  });
  writeFileSync(path.join(root, 'run/secrets/agent_key'), 'sk-1\n');
  const { entrypoint: [program = '', ...flags] = [], command: [script = ''] = [] } = services['setup'] ?? {};
  const setUp = (): void => {
    const env = { PATH: `${path.join(root, 'bin')}:${process.env['PATH']}`, HOME: root };
    execFileSync(program, [...flags, here(script)], { env });
  };
  setUp();
  const keys = () =>
    ['runner_key', 'host_key.pub'].map((name) => readFileSync(path.join(root, 'keys', name), 'utf8'));
  const made = keys();
  setUp(); // as with each `up`
  expect(keys()).toEqual(made);
  expect(statSync(path.join(root, 'data')).mode & 0o777).toBe(0o700);

  const server = startService(services['server'], {
    '0.0.0.0:8080': '127.0.0.1:0',
    '0.0.0.0:2222': '127.0.0.1:0',
  });
  const [, http, ssh] = await server.says(/vole server ready: (http:\S+), ssh \S+:(\d+)/);
  expect(await (await fetch(`${http}/healthz`)).json()).toEqual({ ok: true });
  const runner = startService(services['runner'], { 'server:2222': `127.0.0.1:${ssh}` });
  await runner.says(/vole runner ready: 2 slots/);
  const machines = JSON.stringify(await (await fetch(`${http}/api/runners`)).json());
  expect(machines).toContain('"agents"');
  expect(machines).toContain('"vole:agent"');
  for (const running of [runner, server]) {
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  }
});
