/** FILE THREAD of a runner: deletes and measures trees, one question at a time, blocking only itself. */
import { parentPort } from 'node:worker_threads';
import type { FileAnswer, FileQuestion } from './file-messages.ts';
import { measureTree } from './measure-tree.ts';
import { removeTree } from './remove-tree.ts';

parentPort?.on('message', ({ id, what, path }: FileQuestion) => {
  const answer: FileAnswer =
    what === 'remove'
      ? { id, what: 'removed', left: removeTree(path) }
      : { id, what: 'measured', bytes: measureTree(path) };
  parentPort?.postMessage(answer);
});
