import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addSettings, readSettings } from '../../../src/cli/settings-options.ts';
import { settingsOf } from '../../../src/shared/settings/resolve.ts';
import { recordedContext } from '../../support/cli-context.ts';

function read(argv: string[], env: Record<string, string> = {}) {
  const command = addSettings(new Command('run'), 'run').exitOverride();
  command.parse(argv, { from: 'user' });
  return readSettings('run', command.opts(), recordedContext({ env }));
}

describe('options made from the table', () => {
  it('are all of the group that are no secrets, by their names', () => {
    const command = addSettings(new Command('runner'), 'runner');
    expect(command.options.map(({ long }) => long)).toEqual(
      settingsOf('runner')
        .filter(([, setting]) => !setting.secret)
        .map(([name]) => `--${name}`),
    );
    expect(command.options.map(({ long }) => long)).not.toContain('--context7-api-key');
  });

  it('have a section in the table where their command has many', () => {
    const without = (['server', 'runner', 'run'] as const).flatMap((group) =>
      settingsOf(group).flatMap(([name, { section }]) => (section ? [] : [name])),
    );
    expect([...new Set(without)]).toEqual(['log-level', 'log-format']);
  });

  it('read a flag that begins with no- as itself', () => {
    expect(read([]).noCache).toBe(false);
    expect(read(['--no-cache']).noCache).toBe(true);
    expect(read([], { VOLE_NO_CACHE: 'true' }).noCache).toBe(true);
  });

  it('add up where a list is given twice, and take the last of anything else', () => {
    const settings = read(['--job-env', 'A,B', '--job-env', 'C', '--jobs', '2', '--jobs=3']);
    expect([settings.jobEnv, settings.jobs]).toEqual([['A', 'B', 'C'], 3]);
  });

  it('print a warning of a variable that looks mistyped', () => {
    const context = recordedContext({ env: { VOLE_KILL_GRACS: '1' } });
    readSettings('run', {}, context);
    expect(context.err).toBe(
      'vole: VOLE_KILL_GRACS in the environment is no setting; is VOLE_KILL_GRACE meant?\n',
    );
  });
});
