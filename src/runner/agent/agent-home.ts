import { chmodSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { guardName } from '../../shared/dir-layout.ts';
import type { HeldGuard } from '../../shared/lock/types.ts';
import type { RunnerDir } from '../dir/open-dir.ts';
import { foreignIn } from './foreign-files.ts';
import { CONFIG_FILES, searchProgram, shellWrapper } from './home-files.ts';

/** Where the server keeps its sessions, below HOME: the one thing that stays from one start to the next. */
const STORE = ['.local', 'share', 'opencode'];
/** In the store, what the server would take for its own settings. */
const NO_SESSIONS = ['auth.json', 'mcp-auth.json', 'bin'];
const CONFIG = '.config/opencode';
/** Folders that the server makes and that stay empty: it would run what is in the last one. */
const MADE_EMPTY = ['.cache', '.cache/opencode', '.cache/opencode/bin', '.local', '.local/share'];
/** What the server writes and neither executes nor takes for orders. */
const ITS_OWN = [STORE.join('/'), '.local/state', 'tmp'];

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
    const { folders, files } = this.#prepared(searchFile);
    for (const folder of folders) mkdirSync(path.join(this.path, folder), { recursive: true });
    for (const [name, text] of files) writeFileSync(path.join(this.path, name), text);
    for (const program of [this.shell, path.join(this.programs, 'rg')]) chmodSync(program, 0o755);
  }

  /**
   * Names of what somebody else than `prepare` and the server has put into it or changed, and that the server
   * would execute or take for orders; below HOME, in order.
   */
  foreign(searchFile: string): string[] {
    const { folders, files } = this.#prepared(searchFile);
    const unwanted = NO_SESSIONS.map((name) => [...STORE, name].join('/'));
    return foreignIn(this.path, { folders, mayBe: MADE_EMPTY, files, free: ITS_OWN, unwanted });
  }

  /** Only once the server is gone. Idempotent. */
  release(): void {
    this.#guard.release();
  }

  #prepared(searchFile: string): { folders: readonly string[]; files: ReadonlyMap<string, string> } {
    const { layout, id } = this.#dir;
    const shell = shellWrapper({
      jobs: realpathSync(layout.jobs),
      directory: id,
      programs: path.join(layout.tools, 'bin'),
    });
    return {
      folders: ['.config', CONFIG, `${CONFIG}/node_modules`, 'shell', 'bin', 'tmp'],
      files: new Map([
        ...Object.entries(CONFIG_FILES).map(([name, text]): [string, string] => [`${CONFIG}/${name}`, text]),
        ['shell/bash', shell],
        ['bin/rg', searchProgram(process.execPath, searchFile)],
      ]),
    };
  }

  #clear(folder: string, [kept, ...below]: readonly string[]): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.name !== kept || !entry.isDirectory()) rmSync(file, { recursive: true, force: true });
      else if (below.length > 0) this.#clear(file, below);
    }
  }
}
