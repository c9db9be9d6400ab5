import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JobSpec } from '../../../shared/job-spec.ts';
import { type CommandOptions, type CommandResult, runCommand } from '../../../shared/platform/commands.ts';
import type { WorkerTask } from '../../../shared/worker-messages.ts';
import { NO_SETTINGS } from '../../checkout/git.ts';
import type { MainThread } from '../../port.ts';

type Source = NonNullable<JobSpec['source']>;

/** Of a list of files: a change with longer ones is none that a person could look at. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Git on the workspace with a git directory that the agent has never seen, so that nothing that it has done
 * to `.git` counts: no hook, filter, monitor, alias, ignore list or index of it. Attributes of the tree stay,
 * and name programs that no configuration defines. Neither the runner's own settings nor the system's are
 * read.
 */
export class OwnGit {
  readonly dir: string;
  readonly #task: WorkerTask;
  readonly #main: MainThread;

  private constructor(dir: string, task: WorkerTask, main: MainThread) {
    this.dir = dir;
    this.#task = task;
    this.#main = main;
  }

  /** A new one, empty but for the objects of the saved checkout, which it borrows. Throws. */
  static make(task: WorkerTask, source: Source, savedCheckout: string, main: MainThread): OwnGit {
    // A name that nobody can have put something under before.
    const dir = path.join(task.paths.tree, `change-${randomBytes(12).toString('hex')}.git`);
    mkdirSync(dir, { mode: 0o700 });
    for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'info', 'home']) {
      mkdirSync(path.join(dir, folder), { recursive: true });
    }
    writeFileSync(
      path.join(dir, 'objects', 'info', 'alternates'),
      `${path.join(savedCheckout, 'objects')}\n`,
    );
    writeFileSync(path.join(dir, 'HEAD'), 'ref: refs/heads/none\n');
    writeFileSync(path.join(dir, 'config'), configOf(source));
    return new OwnGit(dir, task, main);
  }

  /** In the workspace. */
  git(
    args: readonly string[],
    options: Pick<CommandOptions, 'input' | 'onOutput'> = {},
  ): Promise<CommandResult> {
    const { baseEnv, paths, marker, agent } = this.#task;
    return runCommand('git', args, {
      maxOutputBytes: OUTPUT_BYTES,
      ...options,
      cwd: paths.src,
      env: {
        ...(baseEnv['PATH'] === undefined ? {} : { PATH: baseEnv['PATH'] }),
        HOME: path.join(this.dir, 'home'),
        TMPDIR: paths.tmp,
        LC_ALL: 'C',
        GIT_DIR: this.dir,
        GIT_WORK_TREE: paths.src,
        ...NO_SETTINGS,
        GIT_TERMINAL_PROMPT: '0',
        GIT_OPTIONAL_LOCKS: '0',
        GIT_AUTHOR_NAME: agent?.botName ?? '',
        GIT_AUTHOR_EMAIL: agent?.botEmail ?? '',
        GIT_COMMITTER_NAME: agent?.botName ?? '',
        GIT_COMMITTER_EMAIL: agent?.botEmail ?? '',
        VOLE_JOB_MARKER: marker,
      },
      signal: this.#main.stopping,
      onSpawn: (pgid) => this.#main.tell({ type: 'process', pgid, what: 'git' }),
      onGone: (pgid) => this.#main.tell({ type: 'process-gone', pgid }),
    });
  }
}

function configOf(source: Source): string {
  const sha256 = source.sha.length === 64;
  return [
    '[core]',
    `\trepositoryformatversion = ${sha256 ? 1 : 0}`,
    '\tfilemode = true',
    '\tsymlinks = true',
    '\tbare = false',
    '\thooksPath = /dev/null',
    '\tfsmonitor = false',
    '\tuntrackedCache = false',
    '\tattributesFile = /dev/null',
    '\texcludesFile = /dev/null',
    '\tautocrlf = false',
    '\tsafecrlf = false',
    '\tprotectNTFS = true',
    '\tprotectHFS = true',
    ...(sha256 ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[gc]',
    '\tauto = 0',
    '[maintenance]',
    '\tauto = false',
    '[commit]',
    '\tgpgSign = false',
    '[submodule]',
    '\trecurse = false',
    '',
  ].join('\n');
}
