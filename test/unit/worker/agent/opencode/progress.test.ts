import type { Part, ToolState } from '@opencode-ai/sdk/v2/client';
import { beforeEach, expect, it } from 'vitest';
import { Progress } from '../../../../../src/worker/agent/opencode/progress.ts';

let log: string[];
let progress: Progress;
beforeEach(() => {
  log = [];
  progress = new Progress(
    (line) => void log.push(line),
    (text) => text,
  );
});

const tool = (state: Partial<ToolState>): Part =>
  ({ id: 't1', type: 'tool', tool: 'bash', callID: 'c', state }) as unknown as Part;
const text = (given: string, end?: number): Part =>
  ({ id: 'x1', type: 'text', text: given, time: { start: 1, ...(end ? { end } : {}) } }) as unknown as Part;

it('says each call of a tool once, when it is known what it does, and how it failed', () => {
  const input = { description: 'tests', command: 'npm ci\nnpm test' };
  progress.part(tool({ status: 'pending', input: {} }));
  progress.part(tool({ status: 'running', input }));
  progress.part(tool({ status: 'running', input }));
  progress.part(tool({ status: 'error', input, error: 'no such program\nat x' }));
  expect(log).toEqual(['[bash] npm ci ; npm test', '[bash] failed: no such program']);
});

it('says a text once it is complete, line by line, and bounds it', () => {
  progress.part(text('half'));
  expect(log).toEqual([]);
  progress.part(text(`first\n\nsecond\n${'more\n'.repeat(200)}`, 2));
  progress.part(text('again', 3));
  expect(log).toHaveLength(101);
  expect(log.slice(0, 3)).toEqual(['first', 'second', 'more']);
  expect(log.at(-1)).toBe('(102 more lines)');
});

it('says each try of a service that fails once', () => {
  for (const attempt of [1, 1, 2]) progress.status({ type: 'retry', attempt, message: 'busy', next: 0 });
  progress.status({ type: 'busy' });
  expect(log).toEqual(["the model's service, try 1: busy", "the model's service, try 2: busy"]);
});

it('counts the answers of the model', () => {
  for (const id of ['a', 'b', 'a']) progress.part({ id, type: 'step-start' } as unknown as Part);
  expect([progress.steps, log]).toEqual([2, []]);
});
