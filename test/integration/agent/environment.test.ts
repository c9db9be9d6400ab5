import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  processesWithEnvPrefix,
  processStat,
  withDescendants,
} from '../../../src/shared/platform/processes.ts';
import { AGENT_TEST_MS, AgentRig, type AgentRun, oneTurn, SERVICE_KEY } from '../../support/agent-rig.ts';
import { ModelServer } from '../../support/model-server.ts';

const DOCUMENTATION_KEY = 'ctx7-key-of-the-documentation';
/** In the environment of the runner, which is this process. */
const OF_THE_RUNNER = 'only-the-runner-has-this';

function below(pid: number): number[] {
  const stat = processStat(pid);
  return stat ? withDescendants([stat]).map(({ pid }) => pid) : [];
}

/** What a command of the agent prints. */
async function printed(rig: AgentRig, run: AgentRun, command: string): Promise<string> {
  rig.model.forget();
  rig.model.answer({ call: [{ tool: 'bash', input: { command, description: 'x' } }] }, { say: 'done' });
  expect(await oneTurn(run)).toMatchObject({ type: 'said' });
  return JSON.stringify(rig.model.asked.at(-1)?.messages.filter(({ role }) => role === 'tool'));
}

describe.each([true, false])(
  'the agents’ server (in a pid namespace: %s)',
  { timeout: AGENT_TEST_MS },
  (namespaced) => {
    it('and its commands see no key and nothing of the runner, and all is gone at its end', async () => {
      process.env['VOLE_TEST_OF_THE_RUNNER'] = OF_THE_RUNNER;
      const documentation = await ModelServer.start();
      const rig = await AgentRig.start({
        namespace: namespaced ? 'pid' : 'none',
        documentationUrl: documentation.url,
        service: { context7Key: namespaced ? null : DOCUMENTATION_KEY },
      });
      rig.cleanup.defer(() => documentation.close());
      try {
        expect(existsSync(rig.dir.layout.agent)).toBe(false); // nothing runs before it is asked for
        const run = await rig.run();
        const access = await rig.server.access();
        if (!access.ok) throw new Error(access.why);
        const { pid, password, url } = access.access;

        const seen = await printed(rig, run, 'env; ps -efww');
        expect(seen).toContain(`PATH=${path.join(rig.dir.layout.tools, 'bin')}:`);
        expect(seen).toContain(`VOLE_JOB_MARKER=${run.marker}`);
        expect(seen).toContain(`HOME=${path.join(run.tree, 'home')}\\n`);
        for (const secret of [SERVICE_KEY, OF_THE_RUNNER, password, DOCUMENTATION_KEY, 'OPENCODE_CONFIG']) {
          expect(seen).not.toContain(secret);
        }
        // From here, where all of it can be seen. The server itself has the documentation's key, and no other.
        const processes = below(pid);
        const environment = processes.map((pid) => readFileSync(`/proc/${pid}/environ`, 'latin1')).join('\n');
        const lines = processes.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1')).join('\n');
        for (const secret of [SERVICE_KEY, OF_THE_RUNNER]) expect(environment).not.toContain(secret);
        for (const secret of [SERVICE_KEY, DOCUMENTATION_KEY, password]) expect(lines).not.toContain(secret);
        expect(environment.includes(DOCUMENTATION_KEY)).toBe(!namespaced);
        expect(statSync(path.join(rig.dir.layout.agent, '0')).mode & 0o777).toBe(0o700);
        if (namespaced) expect(seen).not.toContain('vitest');

        expect(documentation.asked.map(({ headers }) => headers['context7_api_key'])).toEqual(
          documentation.asked.map(() => DOCUMENTATION_KEY),
        );
        expect(documentation.asked.length > 0).toBe(!namespaced);
        expect((await fetch(`${url}/session`)).status).toBe(401);
        await rig.server.close();
        expect(processes.filter((pid) => processStat(pid) !== null)).toEqual([]);
        expect(processesWithEnvPrefix('VOLE_JOB_MARKER', `${rig.dir.id}/`)).toEqual([]);
        await expect(fetch(url)).rejects.toThrow();
        const made = readdirSync(rig.dir.layout.root).sort();
        expect(made).toEqual([
          'agent',
          'cache',
          'format.json',
          'git',
          'images',
          'jobs',
          'locks',
          'tools',
          'trash',
        ]);
      } finally {
        delete process.env['VOLE_TEST_OF_THE_RUNNER'];
        await rig.close();
      }
    });
  },
);
