import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { allSettings, envName, resolveSettings } from '../../src/shared/settings/resolve.ts';
import type { Command } from '../../src/shared/settings/setting.ts';
import { compose, composeText, composeVariables, packaging } from '../support/compose.ts';

const NEEDED = {
  VOLE_AGENT_URL: 'https://models.example/v1',
  AGENTCI_PLAN_MODEL: 'plan',
  AGENTCI_BUILD_MODEL: 'build',
};
const { services, volumes, secrets } = compose(NEEDED);

/** Name and value of each variable, and whether its line is commented out. */
const example = [
  ...readFileSync(path.join(packaging, '.env.example'), 'utf8').matchAll(/^(#?)([A-Z][A-Z0-9_]+)=(.*)$/gm),
].map(([, comment, name = '', value = '']) => ({ name, value, set: comment === '' }));

describe('packaging/compose.yaml', () => {
  it('has Gitea, the server and a runner for agents on one network', () => {
    expect(Object.keys(services)).toEqual(['gitea', 'setup', 'server', 'runner']);
    const elsewhere = Object.entries(services).filter(([, service]) => service.network_mode !== undefined);
    expect(elsewhere.map(([name, { network_mode: mode }]) => [name, mode])).toEqual([['setup', 'none']]);
    const hosts = [services['runner']?.environment?.['VOLE_SERVER'], services['gitea']?.environment];
    expect(hosts).toEqual([
      'ssh://runner@server:2222',
      expect.objectContaining({ GITEA__webhook__ALLOWED_HOST_LIST: 'server' }),
    ]);
  });

  it.each(['server', 'runner'] as const)(
    'gives the %s settings that it has, and it starts with them',
    (group) => {
      const environment = services[group]?.environment ?? {};
      const settings = allSettings().filter(([, { commands }]) => commands.includes(group as Command));
      const known = settings.flatMap(([name, { otherEnv }]) => [envName(name), otherEnv]);
      expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
      expect(Object.values(environment).filter((value) => typeof value !== 'string')).toEqual([]);
      expect(resolveSettings(group, {}, environment, '/')).toMatchObject({ ok: true, warnings: [] });
    },
  );

  it('shows the defaults of the settings where it has some of its own', () => {
    const defaults = new Map(
      allSettings().flatMap(([, { otherEnv, default: value, kind }]) =>
        otherEnv === undefined
          ? []
          : [[otherEnv, kind.type === 'duration' ? value?.replace(/s$/, '') : value]],
      ),
    );
    const own = composeVariables().filter(
      ({ name, default: value }) => name.startsWith('AGENTCI_') && value !== null,
    );
    expect(own.length).toBeGreaterThan(10);
    for (const { name, default: value } of own) expect(value, name).toBe(defaults.get(name) ?? '');
  });

  it('runs as many commands at once as the server lets and the runner has slots for, 2 by default', () => {
    const at = (values: Record<string, string>) => {
      const { server, runner } = compose({ ...NEEDED, ...values }).services;
      const [commands, jobs] = [server, runner].map((service) => service?.environment ?? {});
      return [commands?.['AGENTCI_MAX_CONCURRENT_JOBS'], jobs?.['VOLE_JOBS']];
    };
    expect([at({}), at({ AGENTCI_MAX_CONCURRENT_JOBS: '5' })]).toEqual([
      ['2', '2'],
      ['5', '5'],
    ]);
  });

  it('does not start without a service and its models', () => {
    for (const name of Object.keys(NEEDED)) expect(() => compose({ ...NEEDED, [name]: '' })).toThrow(name);
  });

  it('keeps each secret to the one that needs it, and publishes to this host alone', () => {
    const having = (secret: string) =>
      Object.keys(services).filter((name) => services[name]?.secrets?.includes(secret));
    expect([having('bot_token'), having('agent_key')]).toEqual([['server'], ['runner']]);
    expect(Object.keys(secrets)).toEqual(['bot_token', 'agent_key']);
    const mounts = (name: string) => (services[name]?.volumes ?? []).map((volume) => volume.split(':')[0]);
    expect([mounts('server'), mounts('runner')]).toEqual([['server'], ['runner', 'keys']]);
    expect(Object.keys(volumes).sort()).toEqual(['gitea', 'keys', 'runner', 'server']);
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  });

  it('is taken by Compose itself, where that is on this host', (context) => {
    if (spawnSync('docker', ['compose', 'version']).status !== 0)
      context.skip('docker has no plugin compose');
    const args = ['compose', '--file', path.join(packaging, 'compose.yaml'), 'config', '--quiet'];
    execFileSync('docker', args, { env: { ...process.env, ...NEEDED } });
  });
});

describe('packaging/.env.example', () => {
  it('lists every variable of the file once, and nothing else', () => {
    const used = new Set(composeVariables().map(({ name }) => name));
    expect(example.map(({ name }) => name).sort()).toEqual([...used].sort());
  });

  it('shows the default of what is commented out, and the rest is needed', () => {
    const defaults = new Map(composeVariables().map(({ name, default: value }) => [name, value]));
    for (const { name, value, set } of example) expect(set ? null : value, name).toBe(defaults.get(name));
  });

  it('every variable has a default or is needed, the same in each place', () => {
    const all = composeVariables();
    for (const { name, default: value } of all) {
      expect(
        all.filter((one) => one.name === name && one.default !== value),
        name,
      ).toEqual([]);
    }
    expect(composeText().match(/\$\{/g)).toHaveLength(all.length);
  });
});
