import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../src/shared/errors.ts';
import { allSettings, envName, resolveSettings, settingsOf } from '../../src/shared/settings/resolve.ts';
import { parseDuration } from '../../src/shared/units.ts';

const packaging = path.resolve(import.meta.dirname, '../../packaging');
const read = (name: string) => readFileSync(path.join(packaging, name), 'utf8');

/** Name and value of each variable, and whether its line is commented out. */
function variables(text: string) {
  return [...text.matchAll(/^(#?)(VOLE_[A-Z0-9_]+)=(.*)$/gm)].map(([, comment, name = '', value = '']) => ({
    name,
    value,
    set: comment === '',
  }));
}

describe('packaging/runner.env', () => {
  const listed = variables(read('runner.env'));

  it('lists every setting of the runner once, and nothing else', () => {
    const names = listed.map(({ name }) => name).sort();
    expect(names).toEqual(
      settingsOf('runner')
        .map(([name]) => envName(name))
        .sort(),
    );
  });

  it('shows the default of what is commented out', () => {
    const defaults = new Map(allSettings().map(([name, setting]) => [envName(name), setting.default ?? '']));
    for (const { name, value, set } of listed) if (!set) expect(value, name).toBe(defaults.get(name));
  });

  it('starts a runner as it stands', () => {
    const env = Object.fromEntries(listed.filter(({ set }) => set).map(({ name, value }) => [name, value]));
    expect(resolveSettings('runner', {}, env, '/')).toMatchObject({ ok: true, warnings: [] });
  });
});

/** The settings of a unit; of one that stands there twice the last. */
const unitOf = (name: string) =>
  new Map([...read(name).matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, key, value]) => [key, value]));

describe('the units', () => {
  const guide = readFileSync(path.join(packaging, '../docs/deploy/runner.md'), 'utf8');

  it.each(['vole-runner', 'vole-server'])(
    '%s keeps its directory from other users, at each start',
    (name) => {
      const unit = unitOf(`${name}.service`);
      expect(unit.get('StateDirectoryMode')).toBe('0750');
      const made = `install -d -o ${unit.get('User')} -g ${unit.get('Group')} -m 0750 /var/lib/${unit.get('StateDirectory')}\n`;
      expect(guide).toContain(made);
    },
  );

  it.each(['vole-runner', 'vole-server'])(
    '%s is installed and enabled by the guide, with its user',
    (name) => {
      expect(guide).toContain(`install -m 0644 /opt/vole/packaging/${name}.service /etc/systemd/system/`);
      expect(guide).toContain(`systemctl daemon-reload && systemctl enable --now ${name}\n`);
      expect(guide).toMatch(new RegExp(`^useradd .* ${unitOf(`${name}.service`).get('User')}$`, 'm'));
    },
  );

  it('write the log for people, who read it in the journal', () => {
    expect(variables(read('runner.env'))).toContainEqual({
      name: 'VOLE_LOG_FORMAT',
      value: 'text',
      set: true,
    });
    expect(unitOf('vole-server.service').get('Environment')).toBe('VOLE_LOG_FORMAT=text');
  });

  it('find every file that runner.env names where a command of the guide has put it', () => {
    const files = variables(read('runner.env')).filter(({ set, value }) => set && value.startsWith('/etc/'));
    expect(files.map(({ name }) => name)).toEqual(['VOLE_KEY', 'VOLE_HOST_KEY']);
    const made = [...guide.matchAll(/^(?:ssh-keygen|install) .* (\/etc\/vole\/\S+)/gm)].map(
      ([, file]) => file,
    );
    for (const { value } of files) expect(made).toContain(value);
  });
});

describe('the unit of the runner', () => {
  const unit = unitOf('vole-runner.service');

  it('stops the runner alone, gives it a cgroup and outlives a job that is out of memory', () => {
    expect([unit.get('KillMode'), unit.get('Delegate'), unit.get('OOMPolicy')]).toEqual([
      'mixed',
      'yes',
      'continue',
    ]);
  });

  it('waits longer than a drain may take', () => {
    const stop = parseDuration((unit.get('TimeoutStopSec') ?? '').replaceAll(/ |in/g, ''));
    const resolved = resolveSettings('runner', { server: 's', key: 'k', 'host-key': 'h', dir: 'd' }, {}, '/');
    const settings = resolved.ok ? resolved.settings : null;
    expect(stop).toBeGreaterThan((settings?.drainTimeout ?? Infinity) + 2 * (settings?.killGrace ?? 0));
  });

  it('does not start again after a refusal or a wrong setting', () => {
    const statuses = (unit.get('RestartPreventExitStatus') ?? '').split(' ').map(Number);
    expect(statuses).toEqual([ERRORS.usage.exit, ERRORS['runner-refused'].exit]);
  });
});

it('units and documents name only settings that there are', () => {
  const known = new Set(allSettings().map(([name]) => envName(name)));
  for (const name of ['runner.env', 'vole-runner.service', 'vole-server.service']) {
    const used = [...read(name).matchAll(/VOLE_[A-Z0-9_]+/g)].map(([variable]) => variable);
    expect(used.length, name).toBeGreaterThan(0);
    expect(
      used.filter((variable) => !known.has(variable)),
      name,
    ).toEqual([]);
  }
});
