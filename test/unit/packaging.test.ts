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

describe('the unit of the runner', () => {
  const unit = new Map(
    [...read('vole-runner.service').matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, k, v]) => [k, v]),
  );

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
