import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Runs what was deferred in reverse order, each however the others end. */
export class Cleanup {
  readonly #work: (() => void | Promise<void>)[] = [];

  defer(work: () => void | Promise<void>): void {
    this.#work.push(work);
  }

  tempDir(prefix = 'vole-test-'): string {
    const dir = mkdtempSync(path.join(os.tmpdir(), prefix));
    this.defer(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  }

  async run(): Promise<void> {
    const errors: unknown[] = [];
    for (let work = this.#work.pop(); work; work = this.#work.pop()) {
      try {
        await work();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'cleaning up failed');
  }
}
