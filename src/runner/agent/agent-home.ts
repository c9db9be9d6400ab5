import { chmodSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import type { HeldGuard } from '../../shared/lock/types.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import { PLUGIN_PACKAGE, searchProgram, shellWrapper } from './home-files.ts';

/** Where the server keeps its sessions, below HOME: the one thing that stays from one start to the next. */
const STORE = ['.local', 'share', 'opencode'];
/** In the store, what the server would take for its own settings. */
const NO_SESSIONS = ['auth.json', 'mcp-auth.json', 'bin'];

/** A HOME of the agents' server, held by this process. */
export class AgentHome {
  readonly path: string;
  /** Stable over restarts: sessions are found again by it. */
  readonly id: string;
  /** What the agents' commands are run by. */
  readonly shell: string;
  /** Folder of what the server finds where the host has none. */
  readonly programs: string;
  readonly #dir: RunnerDir;
  readonly #guard: HeldGuard;

  private constructor(dir: RunnerDir, seat: number, guard: HeldGuard) {
    this.path = path.join(dir.layout.agent, String(seat));
    this.id = `${dir.id}/${seat}`;
    this.shell = path.join(this.path, 'shell', 'bash');
    this.programs = path.join(this.path, 'bin');
    this.#dir = dir;
    this.#guard = guard;
  }

  /** The first of the directory that no other process has, `<dir>/agent/<seat>`. It stays, for it has the sessions. */
  static take(dir: RunnerDir): AgentHome {
    for (let seat = 0; ; seat++) {
      const guard = dir.guards.try(guardName.agentHome(seat), 'exclusive');
      if (guard) return new AgentHome(dir, seat, guard);
    }
  }

  /**
   * To be called before each start of the server. What an agent's command may have put into it, such as
   * settings of the server or of a shell, is removed: only the sessions stay.
   */
  prepare(searchFile: string): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    this.#clear(this.path, STORE);
    for (const name of NO_SESSIONS) {
      rmSync(path.join(this.path, ...STORE, name), { recursive: true, force: true });
    }
    const config = path.join(this.path, '.config', 'opencode');
    mkdirSync(path.join(config, 'node_modules'), { recursive: true });
    for (const [name, text] of Object.entries(PLUGIN_PACKAGE)) writeFileSync(path.join(config, name), text);
    mkdirSync(path.dirname(this.shell));
    mkdirSync(path.join(this.path, 'tmp'));
    const jobs = realpathSync(this.#dir.layout.jobs);
    writeFileSync(this.shell, shellWrapper({ jobs, directory: this.#dir.id }));
    mkdirSync(this.programs);
    const search = path.join(this.programs, 'rg');
    writeFileSync(search, searchProgram(process.execPath, searchFile));
    for (const program of [this.shell, search]) chmodSync(program, 0o755);
  }

  /** Only once the server is gone. Idempotent. */
  release(): void {
    this.#guard.release();
  }

  #clear(folder: string, [kept, ...below]: readonly string[]): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.name !== kept || !entry.isDirectory()) rmSync(file, { recursive: true, force: true });
      else if (below.length > 0) this.#clear(file, below);
    }
  }
}
