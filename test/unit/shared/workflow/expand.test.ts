import { describe, expect, it } from 'vitest';
import type { NewRun } from '../../../../src/server/store/store.ts';
import { jobSpecSchema } from '../../../../src/shared/job-spec.ts';
import { commandRun, expandWorkflow } from '../../../../src/shared/workflow/expand.ts';
import { parseWorkflow } from '../../../../src/shared/workflow/parse.ts';
import type { ChosenRuns, RunFacts } from '../../../../src/shared/workflow/types.ts';

const FACTS: RunFacts = {
  repository: 'team/app',
  cloneUrl: 'https://git.example/team/app.git',
  ref: 'refs/heads/main',
  sha: 'a'.repeat(40),
  event: 'push',
  trust: 'trusted',
};

function runs(text: string, chosen: ChosenRuns | null = null): NewRun[] {
  const parsed = parseWorkflow(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  // The store's own type, which shared code may not name, has the same shape.
  return expandWorkflow(parsed.workflow, FACTS, chosen);
}

const keys = (text: string, chosen: ChosenRuns | null = null) => runs(text, chosen).map(({ key }) => key);

describe('the runs of a workflow', () => {
  it('are specs that a runner understands', () => {
    const made = runs('jobs: {a: {steps: [{run: x}]}, b: {steps: [{run: y}], checkout: false}}');
    for (const { spec } of made) jobSpecSchema.parse({ ...spec, run: 1, attempt: 1, pipeline: 1 });
    expect(made[0]?.spec).toMatchObject({
      repository: 'team/app',
      trust: 'trusted',
      event: 'push',
      source: { url: FACTS.cloneUrl, ref: 'refs/heads/main', sha: FACTS.sha, submodules: false },
      image: null,
    });
    expect(made[1]?.spec.source).toBeNull();
  });

  it('have services, with the values of the matrix', () => {
    const text = `
jobs:
  test:
    image: node:22
    strategy: {matrix: {pg: [15, 16]}}
    services:
      db:
        image: "postgres:\${{ matrix.pg }}"
        env: {V: "\${{ matrix.pg }}", N: 1, E: }
        command: [-c, "v=\${{ matrix.pg }}"]
        health-check: "pg_isready # \${{ matrix.pg }}"
        ready-ports: 5432
      cache: {image: redis}
    steps: [{run: x}]
`;
    const { spec } = runs(text)[1] ?? {};
    expect(spec?.services).toEqual([
      {
        name: 'db',
        image: 'postgres:16',
        env: { V: '16', N: '1', E: '' },
        command: ['-c', 'v=16'],
        healthCheck: 'pg_isready # 16',
        readyPorts: [5432],
      },
      { name: 'cache', image: 'redis', env: {}, command: null, healthCheck: null, readyPorts: null },
    ]);
    jobSpecSchema.parse({ ...spec, run: 1, attempt: 1, pipeline: 1 });
  });

  it('have the values of their matrix entry in every text', () => {
    const text = `
env: {R: root, S: root}
jobs:
  test:
    strategy: {matrix: {os: [linux], node: [20, 22]}}
    labels: ["\${{ matrix.os }}", "node-\${{matrix.node}}"]
    serial: "deploy-\${{ matrix.node }}"
    env: {S: "s \${{ matrix.node }}"}
    steps:
      - {name: "on \${{ matrix.node }}", run: "test \${{ matrix.os }} $X \${Y}", env: {V: "\${{ matrix.node }}"}, working-directory: "d\${{ matrix.node }}"}
    artifacts: [{name: dist, paths: ["\${{ matrix.os }}/**"]}]
`;
    expect(runs(text)[1]).toMatchObject({
      key: 'test (linux, 22)',
      job: 'test (linux, 22)',
      labels: ['linux', 'node-22'],
      serial: 'team/app:deploy-22',
      retryLost: false,
      kind: 'job',
      state: 'queued',
      spec: {
        env: { R: 'root', S: 's 22' },
        steps: [{ name: 'on 22', run: 'test linux $X ${Y}', env: { V: '22' }, workingDirectory: 'd22' }],
        artifacts: [{ name: 'dist', paths: ['linux/**'] }],
      },
    });
  });

  it('are named by the job, with the values of the entry where the name does not speak of them', () => {
    const named = (name: string) =>
      runs(`jobs: {a: {name: "${name}", strategy: {matrix: {n: [1, 2]}}, steps: [{run: x}]}}`).map(
        ({ job }) => job,
      );
    expect(named('tests')).toEqual(['tests (1)', 'tests (2)']);
    expect(named('on ${{ matrix.n }}')).toEqual(['on 1', 'on 2']);
    expect(runs('jobs: {a: {name: tests, steps: [{run: x}]}}')[0]?.job).toBe('tests');
  });

  it('put a value in once: what it holds is not read again', () => {
    const text =
      'jobs: {a: {strategy: {matrix: {x: ["$&", "$1"]}}, steps: [{run: "echo \'${{ matrix.x }}\'"}]}}';
    expect(runs(text).map(({ spec }) => spec.steps[0]?.run)).toEqual(["echo '$&'", "echo '$1'"]);
  });

  it('need all entries of a job that has a matrix', () => {
    const text = `jobs:
  lint: {steps: [{run: x}]}
  test: {needs: lint, strategy: {matrix: {n: [1, 2]}}, steps: [{run: x}]}
  ship: {needs: [lint, test], steps: [{run: x}]}`;
    expect(runs(text).map(({ key, needs }) => [key, needs])).toEqual([
      ['lint', []],
      ['test (1)', ['lint']],
      ['test (2)', ['lint']],
      ['ship', ['lint', 'test (1)', 'test (2)']],
    ]);
  });

  it('are those that were chosen', () => {
    const text = `jobs:
  a: {steps: [{run: x}]}
  b: {needs: a, strategy: {matrix: {n: [1, 2]}}, steps: [{run: x}]}
  c: {steps: [{run: x}]}`;
    const chosen: ChosenRuns = new Map<string, 'all' | ReadonlySet<string>>([
      ['a', 'all'],
      ['b', new Set(['b (2)'])],
    ]);
    const made = runs(text, chosen);
    expect(made.map(({ key, needs }) => [key, needs])).toEqual([
      ['a', []],
      ['b (2)', ['a']],
    ]);
    expect(keys(text, new Map())).toEqual([]);
  });

  it('have keys of their own also where values read the same', () => {
    const text = 'jobs: {a: {strategy: {matrix: {x: ["1, 2", 1], y: [3, "2, 3"]}}, steps: [{run: x}]}}';
    expect(keys(text)).toEqual(['a (1, 2, 3)', 'a (1, 2, 2, 3)', 'a (1, 3)', 'a (1, 2, 3) #2']);
  });

  it('name a step without a name by its first line', () => {
    const [run] = runs(`jobs: {a: {steps: [{run: "\\n  npm ci\\nnpm test"}, {run: "${'x'.repeat(200)}"}]}}`);
    expect(run?.spec.steps.map((step) => step.name)).toEqual(['npm ci', `${'x'.repeat(79)}…`]);
  });
});

describe('a matrix', () => {
  const entries = (matrix: string) => keys(`jobs: {j: {strategy: {matrix: ${matrix}}, steps: [{run: x}]}}`);

  it('leaves out what is excluded', () => {
    expect(entries('{a: [1, 2], b: [x, y], exclude: [{a: 1, b: x}, {a: 2}]}')).toEqual(['j (1, y)']);
  });

  it('adds what is included, to entries that it does not contradict, else as one of its own', () => {
    const matrix =
      '{fruit: [apple, pear], animal: [cat, dog], include: [{color: green}, {color: pink, animal: cat}, {fruit: apple, shape: circle}, {fruit: banana}]}';
    expect(entries(matrix)).toEqual([
      'j (apple, cat, pink, circle)',
      'j (apple, dog, green, circle)',
      'j (pear, cat, pink)',
      'j (pear, dog, green)',
      'j (banana)',
    ]);
  });

  it.each([
    ['by itself', 'matrix: {a: [1, 2]}', ['j', 'j']],
    ['where it says so', 'matrix: {a: [1, 2]}, fail-fast: true', ['j', 'j']],
    ['not where it says otherwise', 'matrix: {a: [1, 2]}, fail-fast: false', [null, null]],
    ['not of one entry, which has no others', 'matrix: {a: [1]}', [null]],
  ])('fails fast %s', (_, strategy, expected) => {
    const made = runs(`jobs: {j: {strategy: {${strategy}}, steps: [{run: x}]}, k: {steps: [{run: x}]}}`);
    expect(made.map(({ failFast }) => failFast)).toEqual([...expected, null]);
  });

  it('may have includes alone', () => {
    expect(entries('{include: [{a: 1}, {a: 2}]}')).toEqual(['j (1)', 'j (2)']);
  });
});

describe('the run of a command', () => {
  const asked = { serial: 'team/app#3', env: { VOLE_COMMAND: 'plan', A: 'asked' } };
  const command = (text: string, name = 'plan') => {
    const parsed = parseWorkflow(text);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    return commandRun(parsed.workflow, name, FACTS, asked);
  };

  it('is serial by its issue, is not tried again when it is lost, and has what the comment said', () => {
    const run = command('env: {A: root, B: root}\ncommands: {plan: {steps: [{run: x}]}}');
    expect(run).toMatchObject({
      key: 'plan',
      kind: 'command',
      serial: 'team/app#3',
      retryLost: false,
      spec: { env: { A: 'asked', B: 'root', VOLE_COMMAND: 'plan' } },
    });
    expect(command('commands: {plan: {retry-lost: true, steps: [{run: x}]}}')?.retryLost).toBe(true);
  });

  it('is not there where the file has no such command, though a job has the name', () => {
    expect(command('jobs: {plan: {steps: [{run: x}]}}')).toBeNull();
    expect(command('commands: {fix: {steps: [{run: x}]}}', 'constructor')).toBeNull();
  });
});

it('a job says whether a newer push supersedes it', () => {
  const made = runs('jobs: {a: {supersede: true, steps: [{run: x}]}, b: {steps: [{run: x}]}}');
  expect(made.map(({ supersede }) => supersede)).toEqual([true, false]);
});
