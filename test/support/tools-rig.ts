import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AgentOptions } from '../../src/shared/agent/options.ts';
import { type RigEnd, type RigRun, WorkerRig } from './worker-rig.ts';

const OPTIONS: AgentOptions = {
  models: { explore: null, plan: { model: 'p', variant: null }, build: { model: 'b', variant: null } },
  planReviewRounds: 4,
  implementReviewRounds: 3,
  turnTimeoutMs: 60_000,
  installScripts: [],
  installScriptTimeoutMs: 60_000,
  installScriptsDir: null,
  pythonVersion: '3.13',
  dotnetChannel: 'LTS',
  botName: 'bot',
  botEmail: 'bot@localhost',
};

export interface ToolsOptions extends Partial<AgentOptions> {
  readonly secrets?: Record<string, string>;
  readonly baseEnv?: Record<string, string>;
  /** After the scripts, until it is cancelled. */
  readonly goesOn?: boolean;
}

/** Install scripts as agent runs have them run: the worker's own code in real threads, with real guards. */
export class ToolsRig {
  readonly rig: WorkerRig;
  readonly scripts: string;

  constructor(options: { threads?: number; shared?: string; scripts?: string } = {}) {
    const { threads, shared } = options;
    this.rig = new WorkerRig({
      worker: 'test/tools-worker.js',
      ...(threads === undefined ? {} : { threads }),
      ...(shared === undefined ? {} : { shared }),
    });
    this.scripts = options.scripts ?? path.join(this.rig.dir, 'scripts');
    mkdirSync(this.scripts, { recursive: true });
  }

  /** A script of the directory of scripts, which cannot be executed by itself. */
  script(name: string, text: string): void {
    writeFileSync(path.join(this.scripts, name), text, { mode: 0o644 });
  }

  /** A file that scripts write at `$VOLE_TOOLS`, line by line. */
  lines(name: string): string[] {
    try {
      return readFileSync(path.join(this.rig.tools, name), 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  }

  start(installScripts: readonly string[], given: ToolsOptions = {}): RigRun {
    const { secrets = {}, baseEnv, goesOn, ...options } = given;
    const agent = { ...OPTIONS, installScriptsDir: this.scripts, installScripts, ...options };
    return this.rig.start(
      { steps: [goesOn ? 'goes on' : 'true'], secrets },
      { agent, ...(baseEnv && { baseEnv }) },
    );
  }

  async run(installScripts: readonly string[], given: ToolsOptions = {}): Promise<RigRun & RigEnd> {
    const run = this.start(installScripts, given);
    return Object.assign(run, await run.ended);
  }

  close(): Promise<void> {
    return this.rig.close();
  }
}
