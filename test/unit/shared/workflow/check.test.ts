import { expect, test } from 'vitest';
import { checkWorkflow } from '../../../../src/shared/workflow/check.ts';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';

test('what no key forbids and no runner takes is a fault of its job, and not a runner that stops', () => {
  const parsed = parseWorkflow('jobs: {a: {steps: [{run: x}]}, b: {steps: [{run: x}]}}', 'f');
  const plain = { jobs: { a: {}, b: {} } };
  if (!parsed.ok) throw new Error('it has faults');
  const { workflow } = parsed;
  expect(checkWorkflow(workflow, plain)).toEqual([]);
  // As a value would be that a later key lets through.
  const jobs = workflow.jobs.map((job) => (job.id === 'b' ? { ...job, timeoutMs: 0.5 } : job));
  expect(checkWorkflow({ ...workflow, jobs }, plain)).toEqual([
    {
      path: ['jobs', 'b'],
      what: 'key',
      message: expect.stringMatching(/^`timeoutMs` is not what a runner takes: .*$/),
    },
  ]);
});
