import { allowedText } from '../../src/shared/settings/parse.ts';
import { allSettings, envName } from '../../src/shared/settings/resolve.ts';
import type { Command, Setting } from '../../src/shared/settings/setting.ts';
import { GENERATED } from './generated.ts';

const GROUPS: readonly { readonly group: Command; readonly title: string; readonly what: string }[] = [
  { group: 'server', title: '`vole server`', what: 'The process that queues runs and shows them.' },
  { group: 'runner', title: '`vole runner`', what: 'The process that executes runs.' },
  {
    group: 'run',
    title: '`vole run`',
    what: 'Server and runner in one, on the repository you stand in.',
  },
  {
    group: 'cache',
    title: '`vole cache`',
    what: 'Looking at and trimming the caches of a runner’s directory.',
  },
  {
    group: 'client',
    title: 'Commands that speak to a server',
    what: '`vole submit`, `runs`, `logs`, `cancel`, `retry`, `why`, `repo`, `key`, `secret`.',
  },
  { group: 'doctor', title: '`vole doctor`', what: 'What this host has and lacks.' },
];

/** `docs/configuration.md`. */
export function configurationPage(): string {
  const sections = GROUPS.map(({ group, title, what }) => {
    const rows = allSettings().filter(([, setting]) => setting.commands.includes(group));
    return [
      `## ${title}`,
      '',
      what,
      '',
      '| flag | environment | default | allowed | meaning |',
      '|---|---|---|---|---|',
      ...rows.map(([name, setting]) => rowOf(name, setting, group)),
      '',
    ].join('\n');
  });
  return [GENERATED, '# Configuration', '', INTRODUCTION, '', ...sections].join('\n');
}

const INTRODUCTION = `Each setting is looked for in three places, and the first that has it counts:

1. the flag on the command line, \`--cache-size 40GiB\`
2. the environment variable, \`VOLE_\` and the flag's name, \`VOLE_CACHE_SIZE=40GiB\`; an empty one counts as not set;
   where a second name stands beside it, that one is read where the first is not set
3. the default

There is no configuration file; \`packaging/runner.env\` is an environment file for systemd. A value that is not
allowed stops the command before it does anything: one line for each fault names the setting, the value and what is
allowed, and the exit status is 2. A variable that looks like a mistyped setting (\`VOLE_CACHE_SISE\`) gives a warning.

- **Sizes** are bytes, or have a unit: \`500M\` and \`500MiB\` are powers of 1024, \`500MB\` of 1000.
- **Shares** such as \`50%\` are of the size of the file system that holds \`--dir\`.
- **Times** have a unit, \`90s\`, \`15m\`, \`2h\`, \`1d\`, \`250ms\`, also together, \`1h30m\`; a bare number is seconds.
- **Lists** are separated by commas; a flag given twice adds to the list.
- **Flags without a value** are off; in the environment \`true\` or \`false\`.
- **Secrets** have no flag, since every user of a host sees command lines.
- **Paths** that are relative are relative to the folder the command is started in.`;

function rowOf(name: string, setting: Setting, group: Command): string {
  const value = setting.value ? ` ${setting.value}` : '';
  const cells = [
    setting.secret ? 'none' : `\`--${name}${value}\``,
    [envName(name), ...(setting.otherEnv ? [setting.otherEnv] : [])].map((text) => `\`${text}\``).join(', '),
    defaultOf(setting, group),
    allowedText(setting.kind),
    setting.doc,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function defaultOf(setting: Setting, group: Command): string {
  if (setting.required?.includes(group)) return '**required**';
  return setting.default ? `\`${setting.default}\`` : '';
}
