import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const stampSchema = z.object({
  key: z.string(),
  /** All that stood in `tools/bin` when the script had succeeded. */
  bin: z.array(z.string()).max(10_000),
});

/**
 * What says that an install script has succeeded. It is removed before the script runs again and written when
 * it has succeeded, so a half-done installation has none. Used only under the guard of the tools.
 */
export class Stamp {
  readonly #tools: string;
  readonly #file: string;

  constructor(tools: string, script: string) {
    this.#tools = tools;
    this.#file = path.join(tools, 'stamps', `${script}.json`);
  }

  /** Whether the same has succeeded before, and no program of that time has gone or points to nothing. */
  holds(key: string): boolean {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch {
      return false; // never, or not to its end
    }
    const stamp = stampSchema.safeParse(jsonOf(text));
    if (!stamp.success || stamp.data.key !== key) return false;
    return stamp.data.bin.every((name) => isThere(path.join(this.#tools, 'bin', name)));
  }

  /** Throws where it cannot be removed. */
  remove(): void {
    rmSync(this.#file, { force: true });
  }

  /** Throws where it cannot be written. */
  write(key: string): void {
    const bin = readdirSync(path.join(this.#tools, 'bin')).filter((name) =>
      isThere(path.join(this.#tools, 'bin', name)),
    );
    mkdirSync(path.dirname(this.#file), { recursive: true });
    const made = `${this.#file}.new`;
    const fd = openSync(made, 'w', 0o600);
    try {
      writeSync(fd, JSON.stringify({ key, bin }));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(made, this.#file);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function isThere(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // a link to itself
  }
}
