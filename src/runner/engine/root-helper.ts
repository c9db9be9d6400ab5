import { Engine } from '../../shared/engine/engine.ts';
import { LABEL, labelArguments } from '../../shared/engine/owned.ts';
import type { EngineFacts } from '../../shared/engine/types.ts';
import type { RootHelper } from '../dir/trash.ts';
import type { HelperImages } from './helper-images.ts';

const INSIDE = '/vole/leftover';
/** The engine's own words are in the way of a path with these; no name that vole gives has one. */
const EMPTY_SCRIPT = `rm -rf -- ${INSIDE}/* ${INSIDE}/.[!.]* ${INSIDE}/..?*`;
const OWN_SCRIPT = `chown -h -- "$1" ${INSIDE} && chmod u+rwx ${INSIDE}`;
const WORK_MS = 3_600_000;

/**
 * What an unprivileged runner cannot do with files that a job's container wrote as root: a container
 * does it, with nothing but that folder and without a network, of an image that a job here has used.
 */
export function rootHelper(
  facts: EngineFacts,
  images: HelperImages,
  owner: { directory: string; process: string },
): RootHelper {
  const engine = new Engine(facts);
  const labels = { [LABEL.directory]: owner.directory, [LABEL.process]: owner.process };
  const run = async (folder: string, script: string, args: readonly string[]): Promise<boolean> => {
    const mount = `type=bind,"source=${folder.replaceAll('"', '""')}",target=${INSIDE}`;
    const options = [
      '--rm',
      '--pull',
      'never',
      '--network',
      'none',
      '--user',
      '0',
      '--entrypoint',
      '/bin/sh',
    ];
    for (const image of images.candidates()) {
      const command = ['run', ...options, ...labelArguments(labels), '--mount', mount, image];
      const done = await engine.call([...command, '-c', script, 'vole', ...args], { timeoutMs: WORK_MS });
      if (done.ok) return true;
      if (done.failure.reason === 'unreachable') return false;
    }
    return false;
  };
  return {
    empty: (folder) => run(folder, EMPTY_SCRIPT, []),
    own: (folder) => run(folder, OWN_SCRIPT, [`${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`]),
  };
}
