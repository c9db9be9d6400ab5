import { describe, expect, expectTypeOf, it } from 'vitest';
import { camelCase, envName, resolveSettings } from '../../../../src/shared/settings/resolve.ts';
import type { Settings, SizeOrShare } from '../../../../src/shared/settings/types.ts';

const needed = { server: 'ssh://a@h:1', key: 'k', 'host-key': 'SHA256:x', dir: 'd' };

function runner(
  flags: Record<string, string | undefined>,
  env: Record<string, string> = {},
): Settings<'runner'> {
  const resolved = resolveSettings('runner', { ...needed, ...flags }, env, '/work');
  if (!resolved.ok) throw new Error(resolved.faults.join('\n'));
  return resolved.settings;
}

describe('settings of a command', () => {
  it('come from the flag, then the environment, then the default', () => {
    expect(runner({}).jobs).toBe(1);
    expect(runner({}, { VOLE_JOBS: '3' }).jobs).toBe(3);
    expect(runner({ jobs: '4' }, { VOLE_JOBS: '3' }).jobs).toBe(4);
  });

  it('take an empty variable for one that is not set, and an empty flag for what it says', () => {
    expect(runner({}, { VOLE_JOBS: '', VOLE_LABELS: 'a' })).toMatchObject({ jobs: 1, labels: ['a'] });
    expect(runner({ labels: '' }, { VOLE_LABELS: 'a' }).labels).toEqual([]);
  });

  it('name variables for jobs, and no values of them', () => {
    expect(runner({ 'job-env': 'A,B_1' }).jobEnv).toEqual(['A', 'B_1']);
    expect(() => runner({ 'job-env': 'A=B' })).toThrow(
      /^--job-env: 'A=B' is not allowed; use a list of variable names/,
    );
  });

  it('have the types that the table gives them', () => {
    expectTypeOf<Settings<'runner'>['jobs']>().toEqualTypeOf<number>();
    expectTypeOf<Settings<'runner'>['dir']>().toEqualTypeOf<string>();
    expectTypeOf<Settings<'doctor'>['dir']>().toEqualTypeOf<string | null>();
    expectTypeOf<Settings<'runner'>['noCache']>().toEqualTypeOf<boolean>();
    expectTypeOf<Settings<'runner'>['cacheSize']>().toEqualTypeOf<SizeOrShare>();
    expectTypeOf<Settings<'runner'>['hostJobs']>().toEqualTypeOf<'never' | 'trusted' | 'always'>();
    expectTypeOf<Settings<'server'>>().not.toHaveProperty('jobs');
  });

  it('report every fault at once, each with setting, value and what is allowed', () => {
    const resolved = resolveSettings('runner', { jobs: '0' }, { VOLE_CACHE_SIZE: '10Q' }, '/');
    expect(resolved).toEqual({
      ok: false,
      faults: [
        '--server ssh://ACCOUNT@HOST:PORT is missing; give the flag or set VOLE_SERVER',
        '--key FILE is missing; give the flag or set VOLE_KEY',
        '--host-key FILE|SHA256:... is missing; give the flag or set VOLE_HOST_KEY',
        '--dir DIR is missing; give the flag or set VOLE_DIR',
        "--jobs: '0' is not allowed; use a whole number from 1 to 256",
        "VOLE_CACHE_SIZE: '10Q' is not allowed; use a size such as 500M or 10GiB, or a share of the file system such as 50%",
      ],
    });
  });

  it('keep a fault to one short line whatever the value holds', () => {
    const resolved = resolveSettings('server', { data: 'd', http: `x\n${'y'.repeat(10_000)}` }, {}, '/');
    const [fault = ''] = resolved.ok ? [] : resolved.faults;
    expect(fault).not.toContain('\n');
    expect(fault.length).toBeLessThan(250);
  });

  it('warn of a variable that looks mistyped, and not of what steps of a job see', () => {
    const env = { VOLE_CACHE_SISE: '1', VOLE_RUN: '7', VOLE_CACHE: '/cache', VOLE_SHA: 'x', OTHER: 'y' };
    const resolved = resolveSettings('runner', needed, env, '/');
    expect(resolved.ok && resolved.warnings).toEqual([
      'VOLE_CACHE_SISE in the environment is no setting; is VOLE_CACHE_SIZE meant?',
    ]);
  });
});

it('names are the flag in the environment and in code', () => {
  expect(envName('ssh-max-connections')).toBe('VOLE_SSH_MAX_CONNECTIONS');
  expect(camelCase('ssh-max-connections')).toBe('sshMaxConnections');
});

describe('the number of commands at once', () => {
  const resolved = (flags: Record<string, string>, env: Record<string, string> = {}) => {
    const result = resolveSettings('server', { data: 'd', ...flags }, env, '/');
    return result.ok ? result.settings.maxConcurrentCommands : result.faults;
  };

  it('is 2, or what the flag, its own variable or that of other systems says, in this order', () => {
    const other = { AGENTCI_MAX_CONCURRENT_JOBS: '5' };
    expect(resolved({})).toBe(2);
    expect(resolved({}, other)).toBe(5);
    expect(resolved({}, { ...other, VOLE_MAX_CONCURRENT_COMMANDS: '6' })).toBe(6);
    expect(resolved({ 'max-concurrent-commands': '7' }, other)).toBe(7);
    expect(resolved({}, { AGENTCI_MAX_CONCURRENT_JOBS: '' })).toBe(2);
    expect([
      resolved({}, { AGENTCI_MAX_CONCURRENT_JOBS: '1' }),
      resolved({ 'max-concurrent-commands': '32' }),
    ]).toEqual([1, 32]);
  });

  it.each(['0', '33', '-1', '2.5', '1e1', ' 2', 'two', '0x2', '+2', '٢'])('refuses %j', (value) => {
    const fault = (source: string) => [
      `${source}: '${value}' is not allowed; use a whole number from 1 to 32`,
    ];
    expect(resolved({ 'max-concurrent-commands': value })).toEqual(fault('--max-concurrent-commands'));
    expect(resolved({}, { AGENTCI_MAX_CONCURRENT_JOBS: value })).toEqual(
      fault('AGENTCI_MAX_CONCURRENT_JOBS'),
    );
  });
});
