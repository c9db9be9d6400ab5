/**
 * WORKER THREAD of `vole bench`: the floor that slots are measured against, one spawn of a command
 * and nothing else.
 */
import { runBare } from '../shared/platform/bare-spawn.ts';

export default async function task(command: { file: string; args: string[] }): Promise<number> {
  return await runBare(command.file, command.args);
}
