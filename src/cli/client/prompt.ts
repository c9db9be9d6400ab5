import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { VoleError } from '../../shared/errors.ts';

/** Asks on standard error, since standard output may be read by a program; shows nothing of the answer. */
export async function promptHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const left = new AbortController();
  terminal.once('SIGINT', () => left.abort());
  terminal.once('close', () => left.abort());
  try {
    return await terminal.question('', { signal: left.signal });
  } catch (error) {
    throw new VoleError('interrupted', 'nothing was typed', { cause: error });
  } finally {
    process.stderr.write('\n');
    terminal.close();
  }
}
