import { describe, expect, it } from 'vitest';
import { chooseRuns } from '../../../../src/shared/workflow/choose.ts';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';

const STEPS = 'steps: [{run: x}]';

const WORKFLOW = `jobs:
  lint: {${STEPS}}
  build: {needs: lint, strategy: {matrix: {os: [linux, mac]}}, ${STEPS}}
  test: {needs: build, name: "on \${{ matrix.node }}", strategy: {matrix: {node: [20, 22]}}, ${STEPS}}
  docs: {${STEPS}}
`;

function choose(words: string[], text = WORKFLOW) {
  const parsed = parseWorkflow(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  const choice = chooseRuns(parsed.workflow, words);
  if ('unknown' in choice) return choice.unknown;
  return Object.fromEntries(
    [...choice.chosen].map(([job, keys]) => [job, keys === 'all' ? keys : [...keys]]),
  );
}

describe('what a person asks for', () => {
  it('by the key of a job is all of its entries, with all that they need', () => {
    expect(choose(['test'])).toEqual({ test: 'all', build: 'all', lint: 'all' });
    expect(choose(['docs'])).toEqual({ docs: 'all' });
  });

  it('by the name that is shown, or by its key, is one run, with all that it needs', () => {
    const one = { test: ['test (22)'], build: 'all', lint: 'all' };
    expect(choose(['on 22'])).toEqual(one);
    expect(choose(['test (22)'])).toEqual(one);
    expect(choose(['build (mac)'])).toEqual({ build: ['build (mac)'], lint: 'all' });
  });

  it('twice, or together with what needs it, is no less', () => {
    expect(choose(['on 20', 'on 22', 'docs'])).toMatchObject({
      test: ['test (20)', 'test (22)'],
      docs: 'all',
    });
    expect(choose(['on 20', 'test', 'on 22'])).toMatchObject({ test: 'all' });
    expect(choose(['build (mac)', 'on 20'])).toMatchObject({ build: 'all', test: ['test (20)'] });
  });

  it('is exact, and what is not there has the nearest of keys and names beside it, on one line', () => {
    expect(choose(['tset'])).toBe('no job `tset` (is `test` meant?); it has lint, build, test, docs');
    expect(choose(['on 23'])).toBe('no job `on 23` (is `on 20` meant?); it has lint, build, test, docs');
    expect(choose(['build(mac)'])).toBe(
      'no job `build(mac)` (is `build (mac)` meant?); it has lint, build, test, docs',
    );
    expect(choose(['deploy'])).toBe('no job `deploy`; it has lint, build, test, docs');
    expect(choose(['a\nb\u001b[31m'])).toBe('no job "a\\nb\\u001b[31m"; it has lint, build, test, docs');
  });

  it('and is not there among very many is told some of them', () => {
    const jobs = Array.from({ length: 50 }, (_, at) => `  job${at}: {${STEPS}}\n`).join('');
    expect(choose(['nothing like it'], `jobs:\n${jobs}`)).toMatch(/; it has job0, .*, job19, and 30 more$/);
  });
});
