import { lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { SERVER_SETTINGS } from '../../../shared/agent/access.ts';
import { oneLine } from '../../../shared/errors.ts';

/**
 * Keeps the repository's settings for the agents' server out of its sight: they are moved out of the
 * workspace while it looks there, and back before the workspace is committed. What the agent itself has put
 * in their place is dropped then, so that it can change nothing of them.
 */
export class HiddenSettings {
  readonly #workspace: string;
  readonly #folder: string;
  #hidden = false;

  constructor(workspace: string, tree: string) {
    this.#workspace = workspace;
    this.#folder = path.join(tree, 'agent-hidden');
  }

  /** Null, or in one line why it cannot be done: then nothing may be asked of the server. Idempotent. */
  hide(): string | null {
    try {
      mkdirSync(this.#folder, { recursive: true });
      for (const name of SERVER_SETTINGS) {
        const [shown, aside] = [path.join(this.#workspace, name), path.join(this.#folder, name)];
        if (this.#hidden) rmSync(shown, { recursive: true, force: true });
        else if (exists(shown)) renameSync(shown, aside);
      }
      this.#hidden = true;
      return null;
    } catch (error) {
      return `the repository's settings for it cannot be set aside: ${oneLine(error)}`;
    }
  }

  /** Null, or in one line why it cannot be done. Idempotent. */
  show(): string | null {
    if (!this.#hidden) return null;
    try {
      for (const name of SERVER_SETTINGS) {
        const [shown, aside] = [path.join(this.#workspace, name), path.join(this.#folder, name)];
        rmSync(shown, { recursive: true, force: true });
        if (exists(aside)) renameSync(aside, shown);
      }
      this.#hidden = false;
      return null;
    } catch (error) {
      return `the repository's settings for the agent's server cannot be put back: ${oneLine(error)}`;
    }
  }
}

/** Also a link that leads nowhere. */
function exists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}
