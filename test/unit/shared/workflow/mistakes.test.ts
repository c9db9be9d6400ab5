import { describe, expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

function faults(text: string): string[] {
  const parsed = parseWorkflow(text, 'f');
  return parsed.ok ? [] : parsed.faults.map(faultLine);
}

describe('a mistake in YAML is one line', () => {
  it.each([
    ['a tab', 'jobs:\n  a:\n    steps:\n\t- run: x\n', 'f:4:1: a tab indents this line; expected spaces'],
    [
      'tabs on many lines',
      'jobs:\n  a:\n\tsteps:\n\t- run: x\n\t- run: y\n',
      'f:3:1: a tab indents this line and 2 more; expected spaces',
    ],
    [
      'a list entry a column off',
      'jobs:\n  a:\n    steps:\n      - run: x\n     - run: y\n',
      'f:5:1: a list entry at a wrong indent; expected the column of the entries before it',
    ],
    [
      'a key a column off',
      `jobs:\n  a:\n    ${STEPS}\n   b: x\n`,
      'f:4:1: a wrong indent; expected the column of the lines before it, and a space after `-`',
    ],
    [
      'a key without a colon',
      'jobs:\n  a:\n    steps\n      - run: x\n',
      'f:3:5: a key without `:`; expected `KEY: VALUE`, or a deeper indent for a text of several lines',
    ],
    [
      'a quote without an end',
      'jobs:\n  a:\n    steps:\n      - run: "x\n',
      'f:4:14: a text that begins here has no end; expected `"`',
    ],
    [
      'a quote whose end is escaped, after texts that have one',
      "jobs:\n  a:\n    name: 'it''s'\n    env: {A: \"x\\\\\", B: ''}\n    steps:\n      - run: \"x\\\"\n",
      'f:6:14: a text that begins here has no end; expected `"`',
    ],
    [
      'a single quote without an end',
      "jobs:\n  a:\n    steps:\n      - run: 'it''s''\n",
      "f:4:14: a text that begins here has no end; expected `'`",
    ],
    [
      'a brace without an end',
      `jobs:\n  a: {steps: [{run: x}]\n  b: {${STEPS}}\n`,
      'f:3:3: a `{` before this has no end; expected `}`',
    ],
    [
      'a text that begins with @',
      'jobs:\n  a:\n    steps:\n      - run: @x\n',
      'f:4:14: a text begins with `@`; expected quotes around it',
    ],
    [
      'a pattern that begins with *',
      `on: {push: {branches: [*x]}}\njobs: {a: {${STEPS}}}`,
      'f:1:24: `*x` has no anchor; expected quotes if it is a text',
    ],
    [
      'a pattern that begins with !',
      `on: {push: {paths: [!docs/**]}}\njobs: {a: {${STEPS}}}`,
      'f:1:29: the tag `!docs/**` means nothing here; expected quotes if it is a text',
    ],
    [
      'braces that are no text',
      `env: {A: {{ x }}}\njobs: {a: {${STEPS}}}`,
      'f:1:11: this cannot be a key; expected a name, or quotes around a text',
    ],
  ])('%s', (_, text, line) => {
    expect(faults(text)).toEqual([line]);
  });

  it('for each text that needs quotes, since the parser reads on after it', () => {
    expect(faults('jobs:\n  a:\n    steps:\n      - run: echo a: b\n      - run: echo c: d\n')).toEqual([
      expect.stringMatching(/^f:4:14: a second `: ` on one line/),
      expect.stringMatching(/^f:5:14: a second `: ` on one line/),
    ]);
  });
});

describe('a value that cannot be says what was found and what may be', () => {
  it.each([
    ['timeout-minutes: 5m', '`timeout-minutes`: expected a number from 0.01 to 43200, found `5m`'],
    ['timeout-minutes:', '`timeout-minutes`: expected a number from 0.01 to 43200, found nothing'],
    ['steps: npm test', '`steps`: expected a list of steps, each with `run`, found `npm test`'],
    ['steps: [npm test]', 'entry 1 of `steps`: expected a map with `run`, found `npm test`'],
    ['steps: [{run: }]', '`run`: expected a command, found nothing'],
    ['steps: [{run: ""}]', '`run`: expected a command, found an empty text'],
    ['needs: {job: x}', '`needs`: expected the name of a job or a list, found a map'],
    ['needs: [{job: x}]', 'entry 1 of `needs`: expected the name of a job, found a map'],
    ['env: [A=b]', '`env`: expected a map of names and values, found a list'],
    ['env: {A: [1]}', '`A`: expected a text, found a list'],
    ['image: {name: x}', '`image`: expected the name of an image, such as debian:12, found a map'],
    ['services: [postgres]', '`services`: expected a map of services by their names, found a list'],
    ['strategy: {matrix: [1]}', '`matrix`: expected a map of names and lists of values, found a list'],
    ['strategy: {matrix: {n: 1}}', '`n`: expected a list, found `1`'],
    ['checkout: no', '`checkout`: expected true or false, found `no`'],
    [
      'artifacts: dist',
      '`artifacts`: expected a list of artifacts, each with `name` and `paths`, found `dist`',
    ],
    ['artifacts: [dist]', 'entry 1 of `artifacts`: expected a map with `name` and `paths`, found `dist`'],
    [
      'artifacts: [{name: "a b", paths: x}]',
      '`name`: expected up to 100 letters, digits, `.`, `_` and `-`, not dots alone, found `a b`',
    ],
    [
      'artifacts: [{name: "a-${{ matrix.n }}", paths: x}]',
      '`name`: expected up to 100 letters, digits, `.`, `_` and `-` without `${{ }}` (each entry of a matrix keeps its own), found `a-${{ matrix.n }}`',
    ],
    ['name: "a\\e[31m"', '`name`: expected one line without control characters, found "a\\u001b[31m"'],
  ])('%s', (key, message) => {
    const text = key.startsWith('steps') ? `jobs: {a: {${key}}}` : `jobs: {a: {${STEPS}, ${key}}}`;
    expect(faults(text)).toEqual([expect.stringMatching(/^f:1:\d+: /)]);
    expect(faults(text)[0]?.replace(/^f:1:\d+: /, '')).toBe(message);
  });

  it.each(['success() && x', 'failure() || always()', '!failure()', 'cancelled()', 'true'])(
    'if: %s',
    (word) => {
      expect(faults(`jobs: {a: {steps: [{run: x, if: "${word}"}]}}`)).toEqual([
        `f:1:33: \`if\`: expected one of success(), failure() and always(), alone, found \`${word}\``,
      ]);
    },
  );

  it.each([
    [
      'workflow_dispatch',
      /^f:1:5: `on`: expected push or pull_request \(.*`vole submit`\), found `workflow_dispatch`$/,
    ],
    [
      '[push, schedule]',
      /^f:1:12: entry 2 of `on`: expected push or pull_request \(there is no timer.*found `schedule`$/,
    ],
    ['{push: main}', /^f:1:12: `push`: expected a map of `branches`, `paths` or `tags`, found `main`$/],
    ['{push: [main]}', /^f:1:12: `push`: expected a map of `branches`, `paths` or `tags`, found a list$/],
    ['{push: {branches-ignore: x}}', /^f:1:13: the key `branches-ignore`: expected `branches` with a `!`/],
    [
      '{pull_request: {tags: x}}',
      /^f:1:21: the key `tags` is not known here; expected one of branches, paths$/,
    ],
  ])('on: %s', (value, line) => {
    expect(faults(`on: ${value}\njobs: {a: {${STEPS}}}`)).toEqual([expect.stringMatching(line)]);
  });
});

describe('a key of another CI system names the one that stands for it', () => {
  it.each([
    ['runs-on', 'labels'],
    ['tags', 'labels'],
    ['script', 'steps'],
    ['before_script', 'steps'],
    ['stage', 'needs'],
    ['matrix', 'strategy'],
    ['parallel', 'strategy'],
    ['container', 'image'],
    ['variables', 'env'],
    ['timeout', 'timeout-minutes'],
    ['resource_group', 'serial'],
    ['interruptible', 'supersede'],
    ['allow_failure', 'continue-on-error'],
    ['rules', 'on'],
    ['cache', '$VOLE_CACHE'],
  ])('in a job: %s', (key, ours) => {
    const [line] = faults(`jobs: {a: {${STEPS}, ${key}: x}}`);
    expect(line).toContain(`f:1:31: the key \`${key}\`: `);
    expect(line).toContain(`\`${ours}\``);
  });

  it.each([
    ['uses: actions/checkout@v4', 'the source is checked out before the first step; leave this one out'],
    ['uses: actions/upload-artifact@v4', 'expected `artifacts` in the job instead of this step'],
    ['uses: other/action@v1', 'actions are not supported; expected `run`'],
    ['script: x', 'expected `run`'],
  ])('in a step: %s', (step, hint) => {
    const key = step.split(':', 1)[0];
    expect(faults(`jobs: {a: {steps: [{${step}}]}}`)).toEqual([`f:1:21: the key \`${key}\`: ${hint}`]);
  });

  it.each([
    ['stages: [a]', 'expected `needs` in the jobs, which say their order'],
    ['variables: {A: b}', 'expected `env`'],
    ['image: x', 'it stands in each job under `jobs`'],
    ['build: {script: x}', 'expected it under `jobs`, if it is a job'],
  ])('at the root: %s', (text, hint) => {
    const key = text.split(':', 1)[0];
    expect(faults(`${text}\njobs: {a: {${STEPS}}}`)).toEqual([`f:1:1: the key \`${key}\`: ${hint}`]);
  });

  it('in a strategy whose matrix has no name', () => {
    expect(faults(`jobs: {a: {strategy: {node: [20]}, ${STEPS}}}`)).toEqual([
      'f:1:23: the key `node`: expected it in `matrix`',
    ]);
  });
});
