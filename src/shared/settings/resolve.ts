import { suggest } from '../suggest.ts';
import { parseSetting, type SettingValue } from './parse.ts';
import type { Command, Setting } from './setting.ts';
import { SETTINGS, type SettingName } from './table.ts';
import type { Settings } from './types.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type Resolved<Group extends Command> =
  | { ok: true; settings: Settings<Group>; warnings: string[] }
  | { ok: false; faults: string[] };

/** `cache-size` is looked for as `VOLE_CACHE_SIZE`. */
export function envName(name: string): string {
  return `VOLE_${name.toUpperCase().replaceAll('-', '_')}`;
}

export function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Every setting with its own name, in the order of the table. */
export function allSettings(): [SettingName, Setting][] {
  return Object.entries(SETTINGS) as [SettingName, Setting][];
}

export function settingsOf(group: Command): [SettingName, Setting][] {
  return allSettings().filter(([, setting]) => setting.commands.includes(group));
}

/**
 * Flag over environment over default. `flags` has the text of each flag that was given, by the
 * setting's name. An empty variable counts as not set, as an environment file writes it. All faults
 * are reported together, and nothing may start where there is one.
 */
export function resolveSettings<Group extends Command>(
  group: Group,
  flags: Readonly<Record<string, string | undefined>>,
  env: Environment,
  cwd: string,
): Resolved<Group> {
  const faults: string[] = [];
  const values: Record<string, SettingValue | null> = {};
  for (const [name, setting] of settingsOf(group)) {
    const given = givenText(name, setting, flags, env);
    if (given === null) {
      values[camelCase(name)] = null;
      if (setting.required?.includes(group)) faults.push(missing(name, setting));
      continue;
    }
    const parsed = parseSetting(setting.kind, given.text, cwd);
    if (parsed.ok) values[camelCase(name)] = parsed.value;
    else {
      const what = setting.secret ? 'what it holds' : quoted(given.text);
      faults.push(`${given.source}: ${what} is not allowed; use ${parsed.allowed}`);
    }
  }
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, settings: values as unknown as Settings<Group>, warnings: unknownVariables(env) };
}

function givenText(
  name: string,
  setting: Setting,
  flags: Readonly<Record<string, string | undefined>>,
  env: Environment,
): { text: string; source: string } | null {
  const flag = setting.secret ? undefined : flags[name];
  if (flag !== undefined) return { text: flag, source: `--${name}` };
  for (const variable of [envName(name), setting.otherEnv]) {
    const text = variable === undefined ? undefined : env[variable];
    if (variable !== undefined && text) return { text, source: variable };
  }
  return setting.default === null ? null : { text: setting.default, source: `default of --${name}` };
}

function missing(name: string, setting: Setting): string {
  const value = setting.value ? ` ${setting.value}` : '';
  return `--${name}${value} is missing; give the flag or set ${envName(name)}`;
}

function quoted(text: string): string {
  const short = text.length > 100 ? `${text.slice(0, 99)}…` : text;
  return JSON.stringify(short).replace(/^"|"$/g, "'");
}

/**
 * Variables that look like a mistyped setting. Other unknown `VOLE_*` names pass in silence: steps of
 * a job see such names of vole's own (`VOLE_RUN`), and vole may itself be called in a step.
 */
function unknownVariables(env: Environment): string[] {
  const known = new Set(allSettings().map(([name]) => envName(name)));
  const warnings: string[] = [];
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith('VOLE_') || known.has(variable)) continue;
    const meant = suggest(
      variable.slice(5),
      [...known].map((name) => name.slice(5)),
    );
    if (meant && variable.length > 8) {
      warnings.push(`${variable} in the environment is no setting; is VOLE_${meant} meant?`);
    }
  }
  return warnings;
}
