import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { RunnerOptions } from '../../runner/options.ts';
import { installScripts } from '../../shared/agent/install-scripts.ts';
import type { ModelChoice } from '../../shared/agent/options.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import type { Settings } from '../../shared/settings/types.ts';

type AgentParts = NonNullable<RunnerOptions['agent']>;

/**
 * How this runner does agent runs; null where `--agent-url` is not given. Throws `usage` with a line for each
 * thing that is missing or names nothing, so that nothing starts.
 */
export function agentOptions(settings: Settings<'runner'>): AgentParts | null {
  const faults: string[] = [];
  checkScripts(settings, faults);
  if (settings.agentUrl === null) {
    if (faults.length > 0) throw new VoleError('usage', faults.join('\n'));
    return null;
  }
  const explore = modelOf('explore', settings.agentExploreModel, settings.agentExploreVariant, faults);
  const plan = modelOf('plan', settings.agentPlanModel, settings.agentPlanVariant, faults);
  const build = modelOf('build', settings.agentBuildModel, settings.agentBuildVariant, faults);
  if (!plan) faults.push(missingModel('plan'));
  if (!build) faults.push(missingModel('build'));
  const key = keyOf('--agent-key-file', settings.agentKeyFile, faults);
  const context7Key =
    keyOf('--context7-api-key-file', settings.context7ApiKeyFile, faults) ?? settings.context7ApiKey;
  if (faults.length > 0 || !plan || !build) throw new VoleError('usage', faults.join('\n'));
  return {
    options: {
      models: { explore, plan, build },
      planReviewRounds: settings.planReviewRounds,
      implementReviewRounds: settings.implementReviewRounds,
      turnTimeoutMs: settings.turnTimeout,
      installScripts: [...settings.installScripts],
      installScriptTimeoutMs: settings.installScriptTimeout,
      installScriptsDir: settings.installScriptsDir,
      pythonVersion: settings.pythonVersion,
      dotnetChannel: settings.dotnetChannel,
      botName: settings.botName,
      botEmail: settings.botEmail,
    },
    service: { url: settings.agentUrl, key, context7Key },
  };
}

function modelOf(
  role: string,
  model: string | null,
  variant: string | null,
  faults: string[],
): ModelChoice | null {
  if (model !== null) return { model, variant };
  if (variant !== null) {
    faults.push(`--agent-${role}-variant: '${variant}' is a variant of no model; give --agent-${role}-model`);
  }
  return null;
}

function missingModel(role: string): string {
  return `--agent-${role}-model MODEL is missing, which --agent-url needs; give the flag or set VOLE_AGENT_${role.toUpperCase()}_MODEL`;
}

function checkScripts(settings: Settings<'runner'>, faults: string[]): void {
  const { installScripts: names, installScriptsDir: dir } = settings;
  try {
    const known = installScripts(dir);
    const unknown = names.filter((name) => !known.has(name));
    const list = [...known.keys()].sort().join(', ');
    for (const name of unknown) {
      faults.push(`--install-scripts: there is no script '${name}'; there are ${list}`);
    }
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) faults.push(`--install-scripts: '${twice}' stands there twice`);
  } catch (error) {
    faults.push(`--install-scripts-dir ${dir}: ${oneLine(error)}`);
  }
}

const MOST_BYTES = 8 * 1024;

/** The one word in a file, without the white space around it. A fault never repeats what is in it. */
function keyOf(flag: string, file: string | null, faults: string[]): string | null {
  if (file === null) return null;
  try {
    // A FIFO that nobody writes to would be waited for without end.
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const buffer = Buffer.alloc(MOST_BYTES + 1);
      const bytes = fstatSync(fd).isFile() ? readSync(fd, buffer) : 0;
      const key = buffer.toString('utf8', 0, bytes).trim();
      if (bytes <= MOST_BYTES && /^[\x21-\x7e]+$/.test(key)) return key;
      faults.push(`${flag} ${file}: expected a file with one key and nothing else`);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    faults.push(`${flag}: ${oneLine(error)}`);
  }
  return null;
}
