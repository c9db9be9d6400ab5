import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newKeyPair } from '../../src/runner/session/keys.ts';
import { Cleanup } from '../support/temp.ts';
import { vole } from '../support/vole-process.ts';

let cleanup: Cleanup;
let root: string;
beforeEach(() => {
  cleanup = new Cleanup();
  root = cleanup.tempDir('vole-agent-settings-');
  writeFileSync(path.join(root, 'key'), newKeyPair().privateKey);
});
afterEach(() => cleanup.run());

const RUNNER = ['runner', '--server', 'ssh://a@127.0.0.1:1', '--key', 'key', '--dir', 'dir'];
const MODELS = ['--agent-url', 'http://127.0.0.1:1', '--agent-plan-model', 'p', '--agent-build-model', 'b'];

it.each([
  [
    ['server', '--data', 'dir'],
    { AGENTCI_MAX_CONCURRENT_JOBS: '33' },
    "AGENTCI_MAX_CONCURRENT_JOBS: '33' is not allowed",
  ],
  [
    ['server', '--data', 'dir'],
    { AGENTCI_MAX_CONCURRENT_JOBS: '0' },
    "AGENTCI_MAX_CONCURRENT_JOBS: '0' is not allowed",
  ],
  [RUNNER, { AGENTCI_PLAN_REVIEW_ROUNDS: '0' }, "AGENTCI_PLAN_REVIEW_ROUNDS: '0' is not allowed"],
  [
    RUNNER,
    { AGENTCI_TURN_TIMEOUT_SECONDS: '59' },
    "AGENTCI_TURN_TIMEOUT_SECONDS: '59' is not allowed; use a time from 1 min",
  ],
  [
    [...RUNNER, '--install-script-timeout', '0'],
    { AGENTCI_INSTALL_SCRIPT_TIMEOUT_SECONDS: '5' },
    "--install-script-timeout: '0' is not allowed; use a time from 1 s",
  ],
  [
    [...RUNNER, ...MODELS],
    { AGENTCI_INSTALL_SCRIPTS: 'node,rust' },
    "there is no script 'rust'; there are dotnet, node, python",
  ],
  [
    [...RUNNER, '--agent-url', 'http://127.0.0.1:1'],
    { AGENTCI_BUILD_MODEL: 'b' },
    '--agent-plan-model MODEL is missing',
  ],
])('%j with %j does not start', async (args, env: Record<string, string>, said) => {
  const hostKey = args[0] === 'runner' ? ['--host-key', `SHA256:${'A'.repeat(43)}`] : [];
  const ended = await vole([...args, ...hostKey], { cwd: root, env });
  expect(ended.stderr).toContain(said);
  expect([ended.code, ended.stdout, existsSync(path.join(root, 'dir'))]).toEqual([2, '', false]);
});
