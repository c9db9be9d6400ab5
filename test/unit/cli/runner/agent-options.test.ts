import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runnerOptions } from '../../../../src/cli/runner/runner-options.ts';
import { readSettings } from '../../../../src/cli/settings-options.ts';
import { newKeyPair } from '../../../../src/runner/session/keys.ts';
import { VoleError } from '../../../../src/shared/errors.ts';
import { recordedContext } from '../../../support/cli-context.ts';
import { Cleanup } from '../../../support/temp.ts';

const cleanup = new Cleanup();
afterEach(() => cleanup.run());

const agent = {
  VOLE_AGENT_URL: 'http://127.0.0.1:1/v1/',
  VOLE_AGENT_PLAN_MODEL: 'p',
  VOLE_AGENT_BUILD_MODEL: 'b',
};

/** What `vole runner` makes of these variables; where it does not start, the lines that it says. */
function optionsOf(given: Record<string, string>) {
  const dir = cleanup.tempDir('vole-agent-options-');
  writeFileSync(path.join(dir, 'key'), newKeyPair().privateKey);
  const env = {
    VOLE_SERVER: 'ssh://a@127.0.0.1:1',
    VOLE_KEY: path.join(dir, 'key'),
    VOLE_HOST_KEY: `SHA256:${'A'.repeat(43)}`,
    VOLE_DIR: dir,
    ...given,
  };
  const context = recordedContext({ env, cwd: dir });
  const silent = { debug() {}, info() {}, warn() {} };
  return runnerOptions(readSettings('runner', {}, context), context, silent);
}

function faultsOf(given: Record<string, string>): string[] {
  try {
    optionsOf(given);
  } catch (error) {
    if (error instanceof VoleError && error.code === 'usage') return error.message.split('\n');
    throw error;
  }
  return [];
}

function file(name: string, text: string): string {
  const full = path.join(cleanup.tempDir('vole-agent-file-'), name);
  writeFileSync(full, text);
  return full;
}

describe('a runner', () => {
  it('does no agent runs without a URL, and has no label of them', () => {
    const { VOLE_AGENT_URL: _, ...rest } = agent;
    const options = optionsOf({ ...rest, VOLE_LABELS: 'big' });
    expect([options.agent, options.hello.labels]).toEqual([null, ['big']]);
  });

  it('is told all of it where there is one, and offers the label', () => {
    const options = optionsOf({
      ...agent,
      VOLE_LABELS: 'big',
      VOLE_AGENT_BUILD_VARIANT: 'high',
      VOLE_AGENT_KEY_FILE: file('key', '  sk-1\n'),
      AGENTCI_CONTEXT7_API_KEY: 'c7',
      AGENTCI_INSTALL_SCRIPTS: 'python,node',
    });
    expect(options.hello.labels).toEqual(['big', 'vole:agent']);
    expect(options.agent?.service).toEqual({ url: 'http://127.0.0.1:1/v1', key: 'sk-1', context7Key: 'c7' });
    expect(options.agent?.options).toEqual({
      models: { explore: null, plan: { model: 'p', variant: null }, build: { model: 'b', variant: 'high' } },
      planReviewRounds: 4,
      implementReviewRounds: 3,
      turnTimeoutMs: 3_600_000,
      installScripts: ['python', 'node'],
      installScriptTimeoutMs: 900_000,
      installScriptsDir: null,
      pythonVersion: '3.13',
      dotnetChannel: 'LTS',
      botName: 'vole',
      botEmail: 'vole@localhost',
    });
    expect(JSON.stringify(options.agent?.options)).not.toMatch(/sk-1|c7/);
  });

  it('takes the key of the documentation tool from a file before the variable', () => {
    const options = optionsOf({
      ...agent,
      AGENTCI_CONTEXT7_API_KEY: 'c7',
      VOLE_CONTEXT7_API_KEY_FILE: file('c7', 'of-file\n'),
    });
    expect(options.agent?.service.context7Key).toBe('of-file');
  });

  it('does not start without the models that it needs, and says all that is missing', () => {
    expect(faultsOf({ VOLE_AGENT_URL: agent.VOLE_AGENT_URL, VOLE_AGENT_EXPLORE_VARIANT: 'low' })).toEqual([
      "--agent-explore-variant: 'low' is a variant of no model; give --agent-explore-model",
      '--agent-plan-model MODEL is missing, which --agent-url needs; give the flag or set VOLE_AGENT_PLAN_MODEL',
      '--agent-build-model MODEL is missing, which --agent-url needs; give the flag or set VOLE_AGENT_BUILD_MODEL',
    ]);
  });

  it('does not start with a key file that is none, and does not say what is in it', () => {
    const two = file('two', 's3cret other');
    expect(faultsOf({ ...agent, VOLE_AGENT_KEY_FILE: two })).toEqual([
      `--agent-key-file ${two}: expected a file with one key and nothing else`,
    ]);
    const [folder = ''] = faultsOf({ ...agent, VOLE_AGENT_KEY_FILE: path.dirname(two) });
    expect(folder).toMatch(/^--agent-key-file .*: expected a file/);
    const [none = ''] = faultsOf({ ...agent, VOLE_CONTEXT7_API_KEY_FILE: '/nowhere/key' });
    expect(none).toMatch(/^--context7-api-key-file: ENOENT.*\/nowhere\/key/);
  });

  it('does not start with a script that there is not, and lists those that there are', () => {
    expect(faultsOf({ ...agent, VOLE_INSTALL_SCRIPTS: 'python,rust' })).toEqual([
      "--install-scripts: there is no script 'rust'; there are dotnet, node, python",
    ]);
    expect(faultsOf({ AGENTCI_INSTALL_SCRIPTS: 'rust' })).toHaveLength(1);
    const dir = cleanup.tempDir('vole-scripts-');
    writeFileSync(path.join(dir, 'go.sh'), '');
    writeFileSync(path.join(dir, '.hidden'), '');
    mkdirSync(path.join(dir, 'folder'));
    const own = { ...agent, VOLE_INSTALL_SCRIPTS_DIR: dir };
    expect(faultsOf({ ...own, VOLE_INSTALL_SCRIPTS: 'rust' })).toEqual([
      "--install-scripts: there is no script 'rust'; there are dotnet, go, node, python",
    ]);
    expect(faultsOf({ ...own, VOLE_INSTALL_SCRIPTS: 'go,node' })).toEqual([]);
    expect(faultsOf({ ...own, VOLE_INSTALL_SCRIPTS: 'go,node,go' })).toEqual([
      "--install-scripts: 'go' stands there twice",
    ]);
    const [unread = ''] = faultsOf({ ...agent, VOLE_INSTALL_SCRIPTS_DIR: '/nowhere' });
    expect(unread).toMatch(/^--install-scripts-dir \/nowhere: ENOENT/);
  });

  it('gives nobody a label of its own', () => {
    expect(faultsOf({ VOLE_LABELS: 'a,vole:agent' })).toEqual([
      "--labels: 'vole:agent' is not allowed; use labels that do not begin with vole:, those are given by vole itself",
    ]);
  });
});
