import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../../src/shared/settings/resolve.ts';

const needed = { server: 'ssh://a@h:1', key: 'k', 'host-key': 'SHA256:x', dir: 'd' };

function runner(env: Record<string, string>, flags: Record<string, string> = {}) {
  const resolved = resolveSettings('runner', { ...needed, ...flags }, env, '/work');
  return resolved.ok ? resolved.settings : { faults: resolved.faults };
}

/** The other system's names, vole's own, how each is in code, and a value of each. */
const NAMES: [other: string, own: string, inCode: string, values: [string, unknown], [string, unknown]][] = [
  ['AGENTCI_PLAN_REVIEW_ROUNDS', 'VOLE_PLAN_REVIEW_ROUNDS', 'planReviewRounds', ['2', 2], ['20', 20]],
  [
    'AGENTCI_IMPLEMENT_REVIEW_ROUNDS',
    'VOLE_IMPLEMENT_REVIEW_ROUNDS',
    'implementReviewRounds',
    ['1', 1],
    ['5', 5],
  ],
  ['AGENTCI_TURN_TIMEOUT_SECONDS', 'VOLE_TURN_TIMEOUT', 'turnTimeout', ['60', 60_000], ['2h', 7_200_000]],
  [
    'AGENTCI_INSTALL_SCRIPTS',
    'VOLE_INSTALL_SCRIPTS',
    'installScripts',
    ['python, node', ['python', 'node']],
    ['x', ['x']],
  ],
  [
    'AGENTCI_INSTALL_SCRIPT_TIMEOUT_SECONDS',
    'VOLE_INSTALL_SCRIPT_TIMEOUT',
    'installScriptTimeout',
    ['1', 1_000],
    ['9', 9_000],
  ],
  [
    'AGENTCI_INSTALL_SCRIPTS_DIR',
    'VOLE_INSTALL_SCRIPTS_DIR',
    'installScriptsDir',
    ['/s', '/s'],
    ['t', '/work/t'],
  ],
  ['AGENTCI_PYTHON_VERSION', 'VOLE_PYTHON_VERSION', 'pythonVersion', ['3.12', '3.12'], ['3.14', '3.14']],
  ['AGENTCI_DOTNET_CHANNEL', 'VOLE_DOTNET_CHANNEL', 'dotnetChannel', ['8.0.1xx', '8.0.1xx'], ['STS', 'STS']],
  ['AGENTCI_EXPLORE_MODEL', 'VOLE_AGENT_EXPLORE_MODEL', 'agentExploreModel', ['a/b', 'a/b'], ['c', 'c']],
  [
    'AGENTCI_EXPLORE_VARIANT',
    'VOLE_AGENT_EXPLORE_VARIANT',
    'agentExploreVariant',
    ['low', 'low'],
    ['c', 'c'],
  ],
  ['AGENTCI_PLAN_MODEL', 'VOLE_AGENT_PLAN_MODEL', 'agentPlanModel', ['a', 'a'], ['c', 'c']],
  ['AGENTCI_PLAN_VARIANT', 'VOLE_AGENT_PLAN_VARIANT', 'agentPlanVariant', ['a', 'a'], ['c', 'c']],
  ['AGENTCI_BUILD_MODEL', 'VOLE_AGENT_BUILD_MODEL', 'agentBuildModel', ['a', 'a'], ['c', 'c']],
  ['AGENTCI_BUILD_VARIANT', 'VOLE_AGENT_BUILD_VARIANT', 'agentBuildVariant', ['a', 'a'], ['c', 'c']],
  ['AGENTCI_BOT_NAME', 'VOLE_BOT_NAME', 'botName', ['bot', 'bot'], ['c', 'c']],
  ['AGENTCI_BOT_EMAIL', 'VOLE_BOT_EMAIL', 'botEmail', ['b@c', 'b@c'], ['c@d', 'c@d']],
  ['AGENTCI_CONTEXT7_API_KEY', 'VOLE_CONTEXT7_API_KEY', 'context7ApiKey', ['k1', 'k1'], ['k2', 'k2']],
];

describe('a setting of agents', () => {
  it.each(NAMES)(
    '%s is read, and %s beats it',
    (other, own, inCode, [text, value], [better, betterValue]) => {
      expect(runner({ [other]: text })).toMatchObject({ [inCode]: value });
      expect(runner({ [other]: text, [own]: better })).toMatchObject({ [inCode]: betterValue });
      expect(runner({ [other]: text, [own]: '' })).toMatchObject({ [inCode]: value });
    },
  );

  it('has the default that is documented', () => {
    expect(runner({})).toMatchObject({
      agentUrl: null,
      planReviewRounds: 4,
      implementReviewRounds: 3,
      turnTimeout: 3_600_000,
      installScripts: [],
      installScriptTimeout: 900_000,
      pythonVersion: '3.13',
      dotnetChannel: 'LTS',
      botName: 'vole',
      context7ApiKey: null,
    });
  });

  it.each([
    ['AGENTCI_PLAN_REVIEW_ROUNDS', '0', 'a whole number from 1 to 20'],
    ['AGENTCI_IMPLEMENT_REVIEW_ROUNDS', '0', 'a whole number from 1 to 20'],
    ['AGENTCI_TURN_TIMEOUT_SECONDS', '59', 'a time from 1 min to 1 d, such as 90s, 15m or 2h'],
    ['AGENTCI_INSTALL_SCRIPT_TIMEOUT_SECONDS', '0', 'a time from 1 s to 1 d, such as 90s, 15m or 2h'],
    ['VOLE_INSTALL_SCRIPT_TIMEOUT', '0.5', 'a time from 1 s to 1 d, such as 90s, 15m or 2h'],
    [
      'VOLE_PYTHON_VERSION',
      '3;rm',
      'a version such as 3.13 or LTS, of at most 30 letters, digits, `.` and `-`',
    ],
    ['VOLE_AGENT_URL', 'ftp://x', 'an http:// or https:// URL without user, query and fragment'],
  ])('%s=%s is refused by its name', (variable, text, allowed) => {
    expect(runner({ [variable]: text })).toEqual({
      faults: [`${variable}: '${text}' is not allowed; use ${allowed}`],
    });
  });

  it.each(['--plan-review-rounds', '--turn-timeout', '--install-script-timeout'])(
    '%s names the flag',
    (flag) => {
      const { faults } = runner({}, { [flag.slice(2)]: '0' }) as { faults: string[] };
      expect(faults).toHaveLength(1);
      expect(faults[0]).toMatch(new RegExp(`^${flag}: '0' is not allowed; use `));
    },
  );

  it('that is a secret is not read from a flag, and not repeated where it is wrong', () => {
    expect(runner({}, { 'context7-api-key': 'x' })).toMatchObject({ context7ApiKey: null });
    const { faults } = runner({ VOLE_CONTEXT7_API_KEY: 's3cret'.repeat(100) }) as { faults: string[] };
    expect(faults).toEqual([
      'VOLE_CONTEXT7_API_KEY: what it holds is not allowed; use a text that is not empty, at most 500 characters',
    ]);
  });
});
