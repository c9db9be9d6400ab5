import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/server/store/open.ts';
import { lanesOf } from '../../support/lane-checker.ts';
import { Cleanup } from '../../support/temp.ts';

const child = path.resolve(import.meta.dirname, '../../../dist/test/store-writer.js');
const ORDER = ['queued', 'running', 'passed'];

let cleanup: Cleanup;

beforeEach(() => {
  cleanup = new Cleanup();
});

afterEach(async () => cleanup.run());

/** Lets it work until it has acknowledged this many transitions, and kills it in the midst. All that it said. */
async function killedAfter(file: string, lines: number): Promise<string[]> {
  const writer = spawn(process.execPath, [child, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanup.defer(() => void writer.kill('SIGKILL'));
  let text = '';
  writer.stdout.on('data', (part: Buffer) => {
    text += part.toString();
    if (text.split('\n').length > lines) writer.kill('SIGKILL');
  });
  const [, signal] = (await once(writer, 'close')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  return text.split('\n').filter((line) => line !== '');
}

describe('a server that is killed in mid-write', () => {
  it('has kept every transition that it acknowledged, and counters that are true', async () => {
    const file = path.join(cleanup.tempDir(), 'vole.db');
    for (const lines of [1, 40, 333]) {
      const said = await killedAfter(file, lines);
      expect(said.length).toBeGreaterThanOrEqual(lines);
      const store = await openSqliteStore(file);
      try {
        for (const line of said) {
          const [run, state = ''] = line.split(' ');
          const kept = await store.runs.get(Number(run));
          expect(ORDER.indexOf(kept?.state ?? ''), line).toBeGreaterThanOrEqual(ORDER.indexOf(state));
        }
        const { kept, computed, ready } = lanesOf(file);
        expect([kept, ready]).toEqual([computed, []]);
      } finally {
        await store.close();
      }
    }
  });
});
