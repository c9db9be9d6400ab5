import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import type { Cleanup } from './temp.ts';
import { VoleProcess } from './vole-process.ts';

/** A folder to call the built `vole run` in. Everything it makes outside `--dir` is in a TMPDIR of the test's own. */
export class RunRig {
  readonly root: string;
  readonly folder: string;
  readonly tmp: string;
  readonly #cleanup: Cleanup;

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
    this.root = cleanup.tempDir('vole-run-e2e-');
    this.folder = path.join(this.root, 'app');
    this.tmp = path.join(this.root, 'tmp');
    for (const folder of [this.folder, this.tmp]) mkdirSync(folder);
  }

  start(args: string[] = [], env: Record<string, string> = {}, within = '.'): VoleProcess {
    return this.startVole(['run', '--dir', path.join(this.root, 'dir'), ...args], env, within);
  }

  startVole(args: string[], env: Record<string, string> = {}, within = '.'): VoleProcess {
    const cwd = path.resolve(this.folder, within);
    const running = new VoleProcess(args, { cwd, env: { TMPDIR: this.tmp, ...env } });
    this.#cleanup.defer(() => running.destroy());
    return running;
  }

  async run(args: string[] = [], env: Record<string, string> = {}, within = '.') {
    const running = this.start(args, env, within);
    const { code } = await running.ended;
    return { code, out: running.stdout, err: running.stderr };
  }

  git(...args: string[]): string {
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.invalid'];
    return execFileSync('git', ['-C', this.folder, ...who, ...args], { stdio: 'pipe' })
      .toString()
      .trim();
  }

  write(name: string, text: string): void {
    writeFileSync(path.join(this.folder, name), text);
  }

  /** A job of one step for each name. */
  workflow(jobs: Record<string, string>): void {
    const texts = Object.entries(jobs).map(
      ([name, step]) =>
        `  ${name}:\n    env: {RIG: ${this.root}}\n    steps:\n      - run: ${JSON.stringify(step)}\n`,
    );
    this.write('.vole.yml', `on: [push]\njobs:\n${texts.join('')}`);
  }

  commit(): void {
    if (!existsSync(path.join(this.folder, '.git'))) this.git('init', '-q', '-b', 'main');
    this.git('add', '-A');
    this.git('commit', '-q', '-m', 'change');
  }

  /** Processes of the jobs. */
  processes() {
    return processesWithEnv('RIG', this.root);
  }

  /** No process of a job, no tree, no temporary file. */
  expectNothingLeft(): void {
    expect(this.processes()).toEqual([]);
    expect(readdirSync(this.tmp)).toEqual([]);
    for (const name of ['jobs', 'trash']) {
      expect(readdirSync(path.join(this.root, 'dir', name))).toEqual([]);
    }
  }
}
