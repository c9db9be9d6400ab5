/** FILE THREAD of a runner: deletes and measures trees, one question at a time, blocking only itself. */
import { readlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { oneLine } from '../../shared/errors.ts';
import { type FileAnswer, type FileQuestion, SHARED } from './file-messages.ts';
import { measureParts, measureShared, type Sharing } from './measure-tree.ts';
import { removeTree } from './remove-tree.ts';

/** Where there are too few cores, the main thread with its heartbeats goes before. */
const NICE = 5;

function stepBack(): void {
  try {
    // Linux gives each thread a priority of its own, under the number that it has as a task.
    os.setPriority(Number(path.basename(readlinkSync('/proc/thread-self'))), NICE);
  } catch {
    // then it has that of the process
  }
}

const shared = workerData as Int32Array;
const say = (answer: FileAnswer): void => parentPort?.postMessage(answer);
const looked = (entries: number): void => void Atomics.add(shared, SHARED.entries, entries);

const sharing: Sharing = {
  isWanted: () => Atomics.load(shared, SHARED.idleThreads) > 0,
  give: (parts) => {
    Atomics.sub(shared, SHARED.idleThreads, 1); // the main thread sets it right when it has the parts
    say({ what: 'given', parts });
  },
  looked,
};

/** One bad tree must not cost the others their answer. */
function remove(path: string): readonly string[] {
  try {
    return removeTree(path, looked);
  } catch (error) {
    return [`${path}: ${oneLine(error)}`];
  }
}

function answerTo(question: FileQuestion): FileAnswer {
  try {
    switch (question.what) {
      case 'remove':
        return { what: 'removed', left: question.paths.map((path) => remove(path)) };
      case 'measure':
        return { what: 'measured', ...measureShared(question.path, sharing) };
      case 'measure-parts':
        return { what: 'measured', ...measureParts(question.parts, sharing) };
    }
  } catch (error) {
    return { what: 'failed', why: oneLine(error) };
  }
}

stepBack();
parentPort?.on('message', (question: FileQuestion) => say(answerTo(question)));
