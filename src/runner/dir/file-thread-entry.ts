/** FILE THREAD of a runner: deletes and measures trees, one question at a time, blocking only itself. */
import { parentPort } from 'node:worker_threads';
import { oneLine } from '../../shared/errors.ts';
import type { FileAnswer, FileQuestion } from './file-messages.ts';
import { measureTree } from './measure-tree.ts';
import { removeTree } from './remove-tree.ts';

function answerTo({ id, what, path }: FileQuestion): FileAnswer {
  try {
    return what === 'remove'
      ? { id, what: 'removed', left: removeTree(path) }
      : { id, what: 'measured', bytes: measureTree(path) };
  } catch (error) {
    return { id, what: 'failed', why: oneLine(error) }; // one bad tree must not cost the others their answer
  }
}

parentPort?.on('message', (question: FileQuestion) => parentPort?.postMessage(answerTo(question)));
