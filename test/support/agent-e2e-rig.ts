import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ForgeE2eRig } from './forge-e2e-rig.ts';
import { ModelServer } from './model-server.ts';
import type { VoleProcess } from './vole-process.ts';

/** The built server with agents, a repository on the stand-in of a forge, and a scripted model. */
export class AgentE2eRig {
  readonly forge: ForgeE2eRig;
  readonly model: ModelServer;
  readonly #keyFile: string;

  private constructor(forge: ForgeE2eRig, model: ModelServer) {
    this.forge = forge;
    this.model = model;
    this.#keyFile = path.join(forge.vole.root, 'model-key');
    writeFileSync(this.#keyFile, 'key-of-the-service');
  }

  /** Issues 3 to 6 are there, and alice may give commands. */
  static async start(serverArgs: readonly string[] = []): Promise<AgentE2eRig> {
    const model = await ModelServer.start();
    const forge = await ForgeE2eRig.start(['--agent', ...serverArgs]);
    forge.vole.cleanup.defer(() => model.close());
    await forge.register();
    forge.git.push({ 'a.txt': 'one\n' });
    for (const issue of [3, 4, 5, 6]) forge.project.issue(issue);
    forge.forge.user(forge.project, 'alice', 'write');
    return new AgentE2eRig(forge, model);
  }

  runner(args: readonly string[] = []): VoleProcess {
    const models = ['--agent-plan-model', 'planner', '--agent-build-model', 'builder'];
    const service = ['--agent-url', this.model.url, '--agent-key-file', this.#keyFile];
    return this.forge.vole.runner(['--jobs', '4', ...service, ...models, ...args]);
  }

  /** vole's comments of an issue, oldest first. */
  own(issue: number): string[] {
    return this.forge.project
      .commentsOf(issue)
      .filter(({ author }) => author === 'vole-bot')
      .map(({ body }) => body);
  }

  /** The n-th of vole's comments of an issue, once it says this. */
  async says(issue: number, at: number, what: RegExp): Promise<string> {
    const looksFor = `comment ${at} of ${issue} to say ${what}`;
    const look = (): string | null => {
      const body = this.own(issue)[at];
      return body !== undefined && what.test(body) ? body : null;
    };
    return await this.forge.forge.state.until(looksFor, look, 120_000).catch(async (error: unknown) => {
      throw new Error(`${looksFor}: never, and the newest run's log is\n${await this.#newestLog()}`, {
        cause: error,
      });
    });
  }

  async #newestLog(): Promise<string> {
    const runs = await this.forge.vole.runs();
    return await this.forge.vole.rawLog(Math.max(...runs.map(({ id }) => id)));
  }

  /** Gives a command, and the text of its comment once it has ended. */
  async command(issue: number, text: string, pull = false): Promise<string> {
    const at = this.own(issue).length;
    await this.forge.comment(issue, 'alice', text, pull);
    return await this.says(issue, at, /\*\*(passed|failed|timed-out|cancelled|refused|lost)\*\*/);
  }

  close(): Promise<void> {
    return this.forge.close();
  }
}
