import { describe, expect, it } from 'vitest';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import { faultLine } from '../../../../src/shared/workflow/types.ts';

const STEPS = 'steps: [{run: x}]';

function faults(text: string): string[] {
  const parsed = parseWorkflow(text, 'f');
  return parsed.ok ? [] : parsed.faults.map(faultLine);
}

function workflow(text: string) {
  const parsed = parseWorkflow(text, 'f');
  if (!parsed.ok) throw new Error(parsed.faults.map(faultLine).join('\n'));
  return parsed.workflow;
}

describe('a workflow file', () => {
  it('may use every key', () => {
    const text = `
name: CI
on: {push: {branches: [main], tags: 'v*', paths: [src/**]}, pull_request: }
env: {CI: "true"}
jobs:
  lint: {${STEPS}}
  test:
    name: the tests
    needs: [lint]
    strategy: {matrix: {node: [20, 22]}, fail-fast: false}
    labels: [linux]
    cpus: 4
    memory: 8GiB
    serial: deploy
    retry-lost: true
    timeout-minutes: 30
    checkout: {submodules: true}
    env: {A: b}
    steps:
      - name: test
        run: npm test
        shell: bash
        working-directory: web
        env: {V: "\${{ matrix.node }}"}
        if: failure()
        continue-on-error: true
        timeout-minutes: 0.5
    artifacts: [{name: dist, paths: [dist/**]}]
commands:
  plan: {${STEPS}, checkout: false}
`;
    expect(workflow(text)).toMatchObject({
      name: 'CI',
      on: {
        push: { branches: ['main'], tags: ['v*'], paths: ['src/**'] },
        pullRequest: { branches: null, tags: null, paths: null },
      },
      env: { CI: 'true' },
      jobs: [
        { id: 'lint', needs: [], matrix: null, cpus: 1, memoryBytes: 0, timeoutMs: 3_600_000 },
        {
          id: 'test',
          name: 'the tests',
          needs: ['lint'],
          matrix: [{ node: '20' }, { node: '22' }],
          labels: ['linux'],
          cpus: 4,
          memoryBytes: 8 * 1024 ** 3,
          serial: 'deploy',
          retryLost: true,
          timeoutMs: 1_800_000,
          checkout: { submodules: true },
          steps: [
            {
              name: 'test',
              shell: 'bash',
              workingDirectory: 'web',
              if: 'failure',
              continueOnError: true,
              timeoutMs: 30_000,
            },
          ],
          artifacts: [{ name: 'dist', paths: ['dist/**'] }],
        },
      ],
      commands: [{ id: 'plan', checkout: null }],
    });
  });

  it('keeps values exactly as they are written', () => {
    const env = '{A: 1.10, B: yes, C: 0x1F, D: ~, E: , F: "a\\nb", G: 2026-01-01, H: "${x}"}';
    const { jobs } = workflow(`jobs: {a: {${STEPS}, env: ${env}}}`);
    expect(jobs[0]?.env).toEqual({
      A: '1.10',
      B: 'yes',
      C: '0x1F',
      D: '',
      E: '',
      F: 'a\nb',
      G: '2026-01-01',
      H: '${x}',
    });
  });

  it('does not retry a lost job that has a serial key, unless it says so', () => {
    const { jobs } = workflow(
      `jobs: {a: {${STEPS}}, b: {${STEPS}, serial: x}, c: {${STEPS}, retry-lost: false}}`,
    );
    expect(jobs.map((job) => job.retryLost)).toEqual([true, false, false]);
  });

  it('runs on pushes and pull requests where it says nothing', () => {
    const { on } = workflow(`jobs: {a: {${STEPS}}}`);
    expect(on.push && on.pullRequest).toBeTruthy();
    expect(workflow(`on: push\njobs: {a: {${STEPS}}}`).on.pullRequest).toBeNull();
  });

  it.each(['success()', 'failure()', 'always()', '${{ always() }}', '${{failure()}}'])(
    'takes if: %s',
    (word) => {
      expect(workflow(`jobs: {a: {steps: [{run: x, if: "${word}"}]}}`).jobs[0]?.steps[0]?.if).toBe(
        /[a-z]+/.exec(word)?.[0],
      );
    },
  );
});

describe('a fault', () => {
  it.each([
    ['a tab', 'jobs:\n\ta: 1\n', 'f:2:1: a tab indents this line; expected spaces'],
    ['a duplicate key', `jobs:\n  a: {${STEPS}}\n  a: {${STEPS}}\n`, 'f:3:3: the key `a` stands here twice'],
    [
      'an unknown key',
      `jobs:\n  a: {${STEPS}, lables: [x]}\n`,
      'f:2:26: the key `lables` is not known here; is `labels` meant?',
    ],
    [
      'an unknown key in a step',
      'jobs:\n  a:\n    steps:\n      - {run: x, rnu: y}\n',
      'f:4:18: the key `rnu` is not known here; is `run` meant?',
    ],
    [
      'an unknown event key',
      `on: {push: {brnches: [a]}}\njobs: {a: {${STEPS}}}`,
      'f:1:13: the key `brnches` is not known here; is `branches` meant?',
    ],
    [
      'an unknown event',
      `on: [psh]\njobs: {a: {${STEPS}}}`,
      'f:1:6: entry 1 of `on`: expected push or pull_request, found `psh`',
    ],
    ['a wrong type', 'jobs:\n  a: [x]\n', 'f:2:6: `a`: expected a map with `steps`, found a list'],
    [
      'a missing list',
      'jobs:\n  a: {}\n',
      'f:2:6: `steps`: expected a list of steps, each with `run`, found nothing',
    ],
    ['an empty list', 'jobs:\n  a: {steps: []}\n', 'f:2:14: `steps`: expected at least one step'],
    [
      'a bad number',
      `jobs:\n  a: {${STEPS}, timeout-minutes: soon}\n`,
      'f:2:43: `timeout-minutes`: expected a number from 0.01 to 43200, found `soon`',
    ],
    [
      'a bad size',
      `jobs:\n  a: {${STEPS}, memory: 10Q}\n`,
      'f:2:34: `memory`: expected a size such as 512M or 8GiB, found `10Q`',
    ],
    [
      'a job name',
      `jobs:\n  a b: {${STEPS}}\n`,
      'f:2:3: the key `a b`: expected up to 100 letters, digits, _ and -, the first a letter or _',
    ],
    [
      'an env name',
      `env: {"a-b": x}\njobs: {a: {${STEPS}}}`,
      'f:1:7: the key `a-b`: expected a name of letters, digits and _, not starting with a digit',
    ],
    [
      'an unknown need',
      `jobs:\n  a: {${STEPS}, needs: bb}\n  bbb: {${STEPS}}\n`,
      'f:2:33: `needs`: there is no job `bb`; is `bbb` meant?',
    ],
    [
      'a circle',
      `jobs:\n  a: {${STEPS}, needs: c}\n  b: {${STEPS}, needs: a}\n  c: {${STEPS}, needs: [b]}\n`,
      'f:2:33: `needs` goes in a circle: `a` needs `c` needs `b` needs `a`; expected an order',
    ],
    [
      'an image that is a flag',
      `jobs:\n  a:\n    image: --privileged\n    ${STEPS}\n`,
      'f:3:12: `image`: expected the name of an image, such as debian:12, found `--privileged`',
    ],
    [
      'an image that a matrix has made a flag',
      `jobs:\n  a:\n    image: \${{ matrix.i }}\n    ${STEPS}\n    strategy: {matrix: {i: [node, --privileged]}}\n`,
      "f:3:5: `image` is `--privileged`, which is no image's name (in `a (--privileged)`)",
    ],
    [
      'an image by its id',
      `jobs:\n  a: {${STEPS}, image: 0123456789ab}\n`,
      "f:2:26: `image` is `0123456789ab`, an image's id; expected its name, with a tag",
    ],
    [
      'an image file outside of the checkout',
      `jobs:\n  a: {${STEPS}, image-file: ../D}\n`,
      'f:2:38: `image-file`: expected a file within the checkout, such as ci/Dockerfile, found `../D`',
    ],
    [
      'an image file that a matrix has led out of the checkout',
      `jobs:\n  a:\n    image-file: "\${{ matrix.i }}/D"\n    ${STEPS}\n    strategy: {matrix: {i: [x, ..]}}\n`,
      'f:3:5: `image-file` is `../D`, which is no file within the checkout (in `a (..)`)',
    ],
    [
      'an image file beside an image',
      `jobs:\n  a: {${STEPS}, image: x:1, image-file: D}\n`,
      'f:2:38: there is `image` beside `image-file`; expected one of them',
    ],
    [
      'an image file without a checkout',
      `jobs:\n  a: {${STEPS}, checkout: false, image-file: D}\n`,
      'f:2:43: `image-file` is a file of the checkout, and there is `checkout: false`',
    ],
    [
      'a pull that only an operator may forbid',
      `jobs:\n  a: {${STEPS}, image: x:1, image-pull: never}\n`,
      'f:2:50: `image-pull`: expected missing or always, found `never`',
    ],
    [
      'an action',
      'jobs:\n  a: {steps: [{run: x, uses: y}]}\n',
      'f:2:24: the key `uses`: actions are not supported; expected `run`',
    ],
    [
      'a shell',
      'jobs:\n  a: {steps: [{run: x, shell: zsh}]}\n',
      'f:2:31: `shell`: expected sh or bash, found `zsh`',
    ],
    [
      'a condition',
      'jobs:\n  a: {steps: [{run: x, if: "1 == 1"}]}\n',
      'f:2:28: `if`: expected one of success(), failure() and always(), alone, found `1 == 1`',
    ],
    [
      'a folder outside',
      'jobs:\n  a: {steps: [{run: x, working-directory: a/../..}]}\n',
      'f:2:43: `working-directory`: expected a folder within the checkout, found `a/../..`',
    ],
    [
      'fail-fast',
      `jobs:\n  a: {${STEPS}, strategy: {fail-fast: 1}}\n`,
      'f:2:48: `fail-fast`: expected true or false, found `1`',
    ],
    [
      'a name that would break lines',
      `jobs:\n  a: {name: "a\\nb", ${STEPS}}\n`,
      'f:2:13: `name`: expected one line without control characters, found "a\\nb"',
    ],
    [
      'a name that a matrix value makes so',
      `jobs:\n  a: {${STEPS}, strategy: {matrix: {n: ["\\e[31m"]}}, name: "x \${{ matrix.n }}"}\n`,
      'f:2:63: the name has a control character (in `a ()`)',
    ],
    [
      'a need that does not mean its own job',
      `jobs:\n  a: {${STEPS}, needs: b}\n`,
      'f:2:33: `needs`: there is no job `b`',
    ],
    [
      'an artifact of no pattern',
      `jobs:\n  a: {${STEPS}, artifacts: [{name: x, paths: []}]}\n`,
      'f:2:55: `paths`: expected at least one pattern',
    ],
    [
      'an artifact whose pattern a matrix value makes empty',
      `jobs:\n  a: {${STEPS}, strategy: {matrix: {n: [""]}}, artifacts: [{name: x, paths: ["\${{ matrix.n }}"]}]}\n`,
      'f:2:79: a pattern of `paths` is empty (in `a ()`)',
    ],
    [
      'two artifacts of one name',
      `jobs:\n  a: {${STEPS}, artifacts: [{name: x, paths: a}, {name: x, paths: b}]}\n`,
      'f:2:60: there are two artifacts `x`',
    ],
    [
      'an artifact from elsewhere',
      `jobs:\n  a: {${STEPS}, artifacts: [{name: x, paths: [a/**, ../b]}]}\n`,
      'f:2:48: `../b` leaves the checkout',
    ],
    [
      'two documents',
      `jobs: {a: {${STEPS}}}\n---\nx: 1\n`,
      'f:2:1: a second document starts here; expected one',
    ],
    ['a missing anchor', 'jobs: *x\n', 'f:1:7: `*x` has no anchor; expected quotes if it is a text'],
    [
      'a strange tag',
      `jobs: {a: {${STEPS}, env: {A: !!binary aGk=}}}`,
      'f:1:49: the tag `!!binary` means nothing here; expected quotes if it is a text',
    ],
    [
      'a key of no name',
      `jobs: {a: {${STEPS}, env: {__proto__: x}}}`,
      'f:1:37: this cannot be a key; expected a name',
    ],
    ['a NUL', 'jobs: {a: {steps: [{run: "a\\0b"}]}}', 'f:1:26: a NUL character; expected text'],
    ['an empty file', '', 'f:1:1: the file is empty; expected a map with jobs'],
    ['comments only', '# x\n', 'f:1:1: the file is empty; expected a map with jobs'],
    ['a list', '- a\n', 'f:1:1: expected a map with `jobs`, found a list'],
    ['no jobs', 'jobs: {}\n', 'f:1:1: there are no jobs; expected at least one under `jobs`'],
  ])('%s', (_, text, line) => {
    expect(faults(text)).toEqual([line]);
  });

  it('does not hide the others, and all stand in the order of the file', () => {
    const text = `jobs:\n  a:\n    labels: {x: y}\n    ${STEPS}\n    cpus: many\nevn: {}\n`;
    expect(faults(text)).toEqual([
      'f:3:13: `labels`: expected a text or a list, found a map',
      'f:5:11: `cpus`: expected a number from 0.1 to 4096, found `many`',
      'f:6:1: the key `evn` is not known here; is `env` meant?',
    ]);
  });

  it('in what an alias stands for is found where it was written, once', () => {
    const text = `jobs:\n  a: {steps: &s [{run: x, shell: zsh}]}\n  b: {steps: *s}\n`;
    expect(faults(text)).toEqual(['f:2:34: `shell`: expected sh or bash, found `zsh`']);
  });
});

describe('an expression', () => {
  const job = (rest: string) => `jobs: {a: {${STEPS}, ${rest}}}`;

  it.each([
    [
      job("env: {A: '${{ github.sha }}'}"),
      /`\$\{\{ github.sha \}\}` is not known; expected `\$\{\{ matrix.NAME \}\}`/,
    ],
    [job("env: {A: '${{ secrets.T }}'}"), /secrets of the repository are in the environment/],
    [job("env: {A: '${{ matrix.x }}'}"), /the job has no matrix/],
    [job("strategy: {matrix: {y: [1]}}, env: {A: '${{ matrix.x }}'}"), /the matrix has y/],
    [job("env: {A: '${{ matrix.x'}"), /`\$\{\{` without `\}\}`/],
    [`env: {A: '\${{ matrix.x }}'}\n${job('cpus: 1')}`, /f:1:10: .* there is no matrix here/],
    [
      `commands: {deploy: {${STEPS}}}`,
      /the key `deploy` is not known here; expected one of plan, implement, fix/,
    ],
    [`commands: {fix: {${STEPS}, name: '\${{ matrix.x }}'}}`, /there is no matrix here/],
    [job("strategy: {matrix: {x: ['${{ matrix.x }}']}}"), /there is no matrix here/],
    [
      job("strategy: {matrix: {x: ['', a]}}, labels: ['${{ matrix.x }}']"),
      /a label is empty \(in `a \(\)`\)/,
    ],
  ])('is a fault in %s', (text, message) => {
    expect(faults(text)).toEqual([expect.stringMatching(message)]);
  });

  it('cannot lead a step out of the checkout', () => {
    const text =
      "jobs: {a: {strategy: {matrix: {d: [x, ../..]}}, steps: [{run: x, working-directory: '${{ matrix.d }}'}]}}";
    expect(faults(text)).toEqual(['f:1:66: `working-directory` leaves the checkout (in `a (../..)`)']);
  });
});
