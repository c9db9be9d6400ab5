import { type Command, Option } from 'commander';
import { VoleError } from '../shared/errors.ts';
import { camelCase, resolveSettings, settingsOf } from '../shared/settings/resolve.ts';
import { type Command as Group, SECTIONS, type Setting } from '../shared/settings/setting.ts';
import type { Settings } from '../shared/settings/types.ts';
import type { CliContext } from './context.ts';

/** Those that have too many options for one list. */
const SECTIONED: readonly Group[] = ['server', 'runner', 'run'];

/** Adds an option for each setting of the group that is no secret. Values stay text here: `readSettings` checks them. */
export function addSettings(command: Command, group: Group): Command {
  for (const [name, setting] of settingsOf(group)) {
    if (!setting.secret) command.addOption(optionOf(name, setting, group));
  }
  return command;
}

function optionOf(name: string, setting: Setting, group: Group): Option {
  const flag =
    setting.kind.type === 'flag' ? `--${name}` : `--${name} <${setting.value ?? choices(setting)}>`;
  const option = new Option(flag, `${setting.doc}${note(setting, group)}`);
  if (setting.kind.type === 'list') {
    option.argParser((text, before) => (typeof before === 'string' ? `${before},${text}` : text));
  }
  if (setting.section && SECTIONED.includes(group)) option.helpGroup(`${SECTIONS[setting.section]}:`);
  return option;
}

function choices(setting: Setting): string {
  return setting.kind.type === 'choice' ? setting.kind.of.join('|') : 'VALUE';
}

function note(setting: Setting, group: Group): string {
  if (setting.required?.includes(group)) return ' (required)';
  return setting.default && setting.kind.type !== 'flag' ? ` (default: ${setting.default})` : '';
}

/**
 * The settings of a group from the command's options, the environment and the defaults. Throws
 * `usage` with one line for each fault; prints warnings about variables that look mistyped.
 */
export function readSettings<G extends Group>(
  group: G,
  options: Readonly<Record<string, unknown>>,
  context: Pick<CliContext, 'env' | 'cwd' | 'stderr'>,
): Settings<G> {
  const flags: Record<string, string | undefined> = {};
  for (const [name] of settingsOf(group)) flags[name] = flagText(name, options);
  const resolved = resolveSettings(group, flags, context.env, context.cwd);
  if (!resolved.ok) throw new VoleError('usage', resolved.faults.join('\n'));
  for (const warning of resolved.warnings) context.stderr(`vole: ${warning}\n`);
  return resolved.settings;
}

/** Commander keeps `--no-cache` as `cache: false`, a flag that was not given as undefined or true. */
function flagText(name: string, options: Readonly<Record<string, unknown>>): string | undefined {
  if (name.startsWith('no-')) return options[camelCase(name.slice(3))] === false ? 'true' : undefined;
  const value = options[camelCase(name)];
  if (value === true) return 'true';
  return typeof value === 'string' ? value : undefined;
}
