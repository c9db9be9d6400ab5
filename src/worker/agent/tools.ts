import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type InstallScript, installScripts } from '../../shared/agent/install-scripts.ts';
import type { AgentOptions } from '../../shared/agent/options.ts';
import { guardName } from '../../shared/dir-layout.ts';
import { wholeLine } from '../../shared/errors.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { commandOf, keyOf, scriptEnvironment } from './tools/plan.ts';
import { runScript } from './tools/run-script.ts';
import { Stamp } from './tools/stamp.ts';

/** vole's own scripts, beside the built worker. */
const BUILT_IN = fileURLToPath(new URL('./install-scripts/', import.meta.url));
/** How soon people are told that others are installing. */
const SAY_WAITING_MS = 1_000;

/**
 * Runs the install scripts of the settings that have not succeeded before, in their order. Nobody else on the
 * directory installs meanwhile, in whichever thread or process. When it resolves, nothing that a script started
 * runs any more. Where no script is named it does nothing, and takes no lock.
 */
export async function prepareTools(
  task: WorkerTask,
  main: MainThread,
  log: RunLog,
  builtIn = BUILT_IN,
): Promise<PartFailure | null> {
  const options = task.agent;
  if (!options || options.installScripts.length === 0) return null;
  const asked = main.guard(guardName.tools(), 'exclusive');
  const over = new AbortController();
  delay(SAY_WAITING_MS, null, { signal: over.signal }).then(
    () => log.say(0, 'waiting for the install scripts of another run'),
    () => {},
  );
  const turn = await asked;
  over.abort();
  if (!turn.ok) return { reason: main.stopped ? 'agent-tools' : 'host', why: turn.why };
  const installer = new Installer(task, options, main, log, builtIn);
  const failure = await installer.runAll();
  // Else the main thread lets it go, when the run's processes are gone.
  if (installer.allGone) turn.done();
  return failure;
}

class Installer {
  readonly #task: WorkerTask;
  readonly #options: AgentOptions;
  readonly #main: MainThread;
  readonly #log: RunLog;
  readonly #builtIn: string;
  #allGone = true;

  constructor(task: WorkerTask, options: AgentOptions, main: MainThread, log: RunLog, builtIn: string) {
    this.#task = task;
    this.#options = options;
    this.#main = main;
    this.#log = log;
    this.#builtIn = builtIn;
  }

  get allGone(): boolean {
    return this.#allGone;
  }

  async runAll(): Promise<PartFailure | null> {
    const { tools } = this.#task.paths;
    try {
      for (const folder of ['bin', 'home']) mkdirSync(path.join(tools, folder), { recursive: true });
      const known = installScripts(this.#options.installScriptsDir);
      for (const name of this.#options.installScripts) {
        const script = known.get(name);
        if (!script) return failed(`there is no install script ${name} any more`);
        const failure = await this.#run(script);
        if (failure !== null) return failed(failure);
      }
      return null;
    } catch (error) {
      const full = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
      return { reason: full ? 'disk-full' : 'agent-tools', why: `install scripts: ${wholeLine(error)}` };
    }
  }

  /** Gives one line where it failed. Throws where a file cannot be read or written. */
  async #run(script: InstallScript): Promise<string | null> {
    const { name } = script;
    if (this.#main.stopped) return `install script ${name} was not started: the run was stopped`;
    const file = 'file' in script ? script.file : path.join(this.#builtIn, `${script.builtIn}.sh`);
    const text = readFileSync(file, 'utf8');
    const key = keyOf([text, ...('file' in script ? [] : this.#builtInTexts())], this.#options);
    const { paths, baseEnv, marker } = this.#task;
    const stamp = new Stamp(paths.tools, name);
    if (stamp.holds(key)) {
      this.#log.say(0, `install script ${name}: has succeeded before`);
      return null;
    }
    stamp.remove();
    this.#log.say(0, `install script ${name}`);
    const { pythonVersion, dotnetChannel, installScriptTimeoutMs } = this.#options;
    const facts = { tools: paths.tools, tmp: paths.tmp, node: process.execPath, marker };
    const { failure, gone } = await runScript(
      {
        name,
        ...commandOf(file, text),
        env: scriptEnvironment(baseEnv, { ...facts, pythonVersion, dotnetChannel }),
        timeoutMs: installScriptTimeoutMs,
      },
      this.#task,
      this.#main,
      this.#log,
    );
    if (!gone) this.#allGone = false;
    if (failure === null) stamp.write(key);
    return failure;
  }

  /** They use one another. */
  #builtInTexts(): string[] {
    const files = readdirSync(this.#builtIn).sort();
    return files.map((file) => readFileSync(path.join(this.#builtIn, file), 'utf8'));
  }
}

function failed(why: string): PartFailure {
  return { reason: 'agent-tools', why };
}
