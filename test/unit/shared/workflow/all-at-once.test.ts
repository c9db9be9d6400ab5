import { describe, expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine, faultLines } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

function faults(text: string): string[] {
  const parsed = parseWorkflow(text, 'f');
  return parsed.ok ? [] : parsed.faults.map(faultLine);
}

describe('faults are told at once', () => {
  it('of keys, needs, expressions, sizes and runs, each in jobs of their own', () => {
    const text = `jobs:
  keys: {${STEPS}, lables: [x]}
  needs: {${STEPS}, needs: nedes}
  circle: {${STEPS}, needs: circle}
  expressions: {steps: [{run: "\${{ github.sha }}"}]}
  entries: {${STEPS}, strategy: {matrix: {a: []}}}
  image: {${STEPS}, image: 0123456789ab}
  name: {${STEPS}, name: needs}
commands:
  plan: {${STEPS}, artifacts: [{name: x, paths: /x}]}
`;
    expect(faults(text)).toEqual([
      'f:2:29: the key `lables` is not known here; is `labels` meant?',
      'f:3:37: `needs`: there is no job `nedes`',
      'f:4:38: `needs` goes in a circle: `circle` needs `circle`; expected an order',
      expect.stringMatching(/^f:5:31: `\$\{\{ github.sha }}` is not known/),
      'f:6:55: `a`: expected at least one value',
      "f:7:30: `image` is `0123456789ab`, an image's id; expected its name, with a tag",
      'f:8:35: `name`: `needs` is what the job `needs` goes by; expected a name of its own',
      'f:10:51: `/x` leaves the checkout',
    ]);
  });

  it('of one job, where they do not depend on one another', () => {
    const text = `jobs:
  a:
    cpus: many
    needs: [b, 'no job']
    labels: ['\${{ secrets.X }}']
    image: 0123456789ab
    steps: [{run: x, shell: zsh}, {run: x, shell: csh}]
    artifacts: [{name: x, paths: ..}, {name: x, paths: y}]
`;
    expect(faults(text)).toEqual([
      'f:3:11: `cpus`: expected a number from 0.1 to 4096, found `many`',
      'f:4:13: `needs`: there is no job `b`',
      'f:4:16: entry 2 of `needs`: expected the name of a job, found `no job`',
      expect.stringMatching(/^f:5:14: `\$\{\{ secrets.X }}` is not known/),
      "f:6:5: `image` is `0123456789ab`, an image's id; expected its name, with a tag",
      'f:7:29: `shell`: expected sh or bash, found `zsh`',
      'f:7:51: `shell`: expected sh or bash, found `csh`',
      'f:8:27: `..` leaves the checkout',
      'f:8:40: there are two artifacts `x`',
    ]);
  });

  it('beside a key that stands twice, a tag and a name that no job may have', () => {
    const text = `jobs:
  a: {${STEPS}, cpus: 1, cpus: 2, memory: !!int 3}
  b c: {steps: [{rnu: x}]}
`;
    expect(faults(text)).toEqual([
      'f:2:35: the key `cpus` stands here twice',
      'f:2:58: the tag `!!int` means nothing here; expected quotes if it is a text',
      'f:3:3: the key `b c`: expected up to 100 letters, digits, _ and -, the first a letter or _',
      'f:3:18: the key `rnu` is not known here; is `run` meant?',
    ]);
  });

  it('of several circles, and of each entry of a matrix only what is new', () => {
    const text = `jobs:
  a: {${STEPS}, needs: b}
  b: {${STEPS}, needs: a}
  c: {${STEPS}, needs: c}
  d: {${STEPS}, strategy: {matrix: {i: [--x, --y], j: [ok, ..]}}, image: "\${{ matrix.i }}", artifacts: [{name: x, paths: "\${{ matrix.j }}"}]}
`;
    expect(faults(text)).toEqual([
      'f:2:33: `needs` goes in a circle: `a` needs `b` needs `a`; expected an order',
      'f:4:33: `needs` goes in a circle: `c` needs `c`; expected an order',
      "f:5:76: `image` is `--x`, which is no image's name (in `d (--x, ok)`)",
      'f:5:124: `..` leaves the checkout (in `d (--x, ..)`)',
    ]);
  });

  it('up to twenty, the first of the file, and it is said that there are others', () => {
    const jobs = Array.from({ length: 25 }, (_, at) => `  j${at}: {${STEPS}, needs: nobody${at}, cpus: x}`);
    const parsed = parseWorkflow(`jobs:\n${jobs.join('\n')}\n`, 'f');
    const lines = parsed.ok ? [] : faultLines(parsed);
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatch(/^f:2:\d+: `needs`: there is no job `nobody0`/);
    expect(lines[19]).toMatch(/^f:11:\d+: `cpus`: expected a number/);
    expect(lines[20]).toBe('f: 20 faults are shown; there are others');
  });
});

describe('a fault causes no second one', () => {
  it.each([
    [
      'a job of a wrong type that another needs',
      `jobs: {a: [x], b: {${STEPS}, needs: a}}`,
      ['`a`: expected a map'],
    ],
    ['a misspelt key that is required', 'jobs: {a: {stpes: []}}', ['`stpes`']],
    ['`script` in place of `steps`', 'jobs: {a: {script: x}}', ['`script`']],
    [
      'a matrix that is no map',
      `jobs: {a: {strategy: {matrix: [1]}, steps: [{run: "\${{ matrix.x }}"}]}}`,
      ['`matrix`'],
    ],
    [
      'a matrix at the wrong place',
      `jobs: {a: {matrix: {x: [1]}, labels: ["\${{ matrix.x }}"], ${STEPS}}}`,
      ['`matrix`'],
    ],
    [
      'a matrix that is too large',
      `jobs: {a: {strategy: {matrix: {x: [${Array(300)
        .fill(0)

        .map((_, i) => i)
        .join(',')}]}}, steps: [{run: "\${{ matrix.x }}"}]}}`,
      ['300 matrix entries'],
    ],
    [
      'a misspelt image beside services',
      `jobs: {a: {imgae: x, services: {db: {image: x}}, ${STEPS}}}`,
      ['`imgae`'],
    ],
    ['an expression in an unknown key', `jobs: {a: {if: "\${{ github.ref }}", ${STEPS}}}`, ['`if`']],
    ['an expression where a number is meant', `jobs: {a: {cpus: "\${{ matrix.x }}", ${STEPS}}}`, ['`cpus`']],
    [
      'an unknown expression in a label',
      `jobs: {a: {strategy: {matrix: {x: [1]}}, labels: ["\${{ matrix.y }}"], ${STEPS}}}`,
      ['the matrix has x'],
    ],
    ['an anchor that is not there', `jobs: {a: {steps: *x}}`, ['`*x`']],
    ['jobs that are a list', 'jobs: [a]', ['`jobs`']],
    ['jobs at the root', 'build: {script: x}', ['`build`']],
    ['steps at the root', 'steps: [{run: x}]', ['`steps`']],
    [
      'a job that stands twice',
      `jobs: {a: {${STEPS}, name: x}, a: {${STEPS}}, b: {${STEPS}, name: x, needs: a}}`,
      ['stands here twice'],
    ],
    ['an action with inputs', 'jobs: {a: {steps: [{uses: x, with: {a: b}}]}}', ['`uses`']],
    ['a merge key', 'jobs: {a: {<<: x}}', ['`<<`']],
  ])('%s', (_, text, parts) => {
    expect(faults(text)).toEqual(parts.map((part) => expect.stringContaining(part)));
  });
});

describe('a file full of faults', () => {
  it.each([
    ['unknown keys', Array.from({ length: 20_000 }, (_, at) => `k${at}: `).join('\n')],
    [
      'jobs without steps',
      `jobs:\n${Array.from({ length: 6000 }, (_, at) => `  j${at}: {x: y}`).join('\n')}`,
    ],
    [
      'unknown needs',
      `jobs: {a: {${STEPS}, needs: [${Array.from({ length: 20_000 }, (_, at) => `n${at}`).join(',')}]}}`,
    ],
    ['circles', `jobs:\n${Array.from({ length: 5000 }, (_, at) => `  j${at}: {needs: j${at}}`).join('\n')}`],
  ])('of %s is refused with the first of them', (_, text) => {
    expect(faults(text)).toHaveLength(20);
  });
});
