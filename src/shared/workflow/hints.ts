import type { Plain, YamlPath } from './yaml-types.ts';

/** What stands for keys that GitHub Actions, GitLab CI and others have, by the map that they stand in. */
type Hints = Readonly<Record<string, string>>;

const NO_ACTIONS = 'actions are not supported; expected `run`';
const ALWAYS_STEP = 'expected a step in `steps` with `if: always()`';
const IN_JOBS = 'it stands in each job under `jobs`';
const STEPS = 'expected `steps` with `run`';
const ONE_JOB = 'a command is one job, started by a comment, and has none';

const ROOT: Hints = {
  stages: 'expected `needs` in the jobs, which say their order',
  variables: 'expected `env`',
  workflow: 'expected `on`',
  when: 'expected `on`',
  trigger: 'expected `on`',
  triggers: 'expected `on`',
  branches: 'expected `on` with `push: {branches: [...]}`',
  job: 'expected `jobs`',
  pipeline: 'expected `jobs`, in each of them `steps`',
  image: IN_JOBS,
  services: IN_JOBS,
  cache: 'what a job leaves in the folder `$VOLE_CACHE` is kept for the next',
  concurrency: 'expected `serial` or `supersede` in the jobs',
  permissions: 'a job has no token of the forge',
  defaults: 'each step says its own `shell` and `working-directory`',
  default: 'each of `jobs` says its own; expected an anchor and an alias for what several have',
  include: 'one file holds the whole workflow',
  steps: 'they stand in each job under `jobs`',
  script: 'expected `jobs`, in each of them `steps` with `run`',
  before_script: 'expected a step in the `steps` of each of `jobs`',
  after_script: 'expected a step with `if: always()` in the `steps` of each of `jobs`',
};

const JOB: Hints = {
  dockerfile: 'expected `image-file`',
  container: 'expected `image`',
  service: 'expected `services`',
  'runs-on': 'expected `labels`',
  tags: 'expected `labels`',
  script: STEPS,
  run: STEPS,
  commands: STEPS,
  before_script: 'expected a step at the start of `steps`',
  after_script: ALWAYS_STEP,
  uses: NO_ACTIONS,
  with: NO_ACTIONS,
  stage: 'expected `needs`',
  dependencies: 'expected `needs`, which orders jobs and hands on no files',
  depends_on: 'expected `needs`',
  matrix: 'expected `strategy` with `matrix` in it',
  parallel: 'expected `strategy` with `matrix` in it',
  'fail-fast': 'expected `strategy` with `fail-fast` in it',
  variables: 'expected `env`',
  environment: 'expected `env` for variables; there are no deployment environments',
  secrets: 'secrets of the repository are in the environment of trusted runs',
  rules: 'expected `on` at the root, which starts all jobs, or `if` in a step',
  only: 'expected `on` at the root, which starts all jobs, or `if` in a step',
  except: 'expected `on` at the root, which starts all jobs, or `if` in a step',
  on: 'it stands at the root and starts all jobs',
  if: 'a job has no condition; expected `on` at the root, or `if` in a step',
  when: 'a job has no condition; expected `on` at the root, or `if` in a step',
  concurrency: 'expected `serial`, or `supersede`',
  resource_group: 'expected `serial`',
  interruptible: 'expected `supersede`',
  retry: 'expected `retry-lost`, of a lost host; what fails is not tried again',
  timeout: 'expected `timeout-minutes`',
  allow_failure: 'expected `continue-on-error` in a step',
  'continue-on-error': 'it stands in a step',
  'working-directory': 'it stands in a step',
  shell: 'it stands in a step',
  cache: 'what a job leaves in the folder `$VOLE_CACHE` is kept for the next',
  outputs: 'no values go from one job to another; expected `artifacts` for files that are kept',
  permissions: 'a job has no token of the forge',
  defaults: 'each step says its own `shell` and `working-directory`',
  extends: 'expected an anchor and an alias, or the keys themselves',
  options: 'no flag of the engine comes from a workflow',
  volumes: 'a workflow mounts nothing',
  privileged: 'no flag of the engine comes from a workflow',
};

const COMMAND: Hints = {
  ...JOB,
  needs: ONE_JOB,
  strategy: ONE_JOB,
  serial: 'commands of one issue go one at a time as it is',
  supersede: 'no push ends a command',
};

const STEP: Hints = {
  uses: NO_ACTIONS,
  with: NO_ACTIONS,
  script: 'expected `run`',
  command: 'expected `run`',
  commands: 'expected `run`',
  id: 'steps have no outputs; a later step reads the files that an earlier one wrote',
  when: 'expected `if`',
  timeout: 'expected `timeout-minutes`',
  cwd: 'expected `working-directory`',
  dir: 'expected `working-directory`',
  allow_failure: 'expected `continue-on-error`',
  variables: 'expected `env`',
  environment: 'expected `env`',
  secrets: 'secrets of the repository are in the environment of trusted runs',
  image: 'it stands in the job, for all its steps',
};

const SERVICE: Hints = {
  ports:
    'a service publishes no ports, the job reaches all of them by its name; expected `ready-ports` for those to wait for',
  volumes: 'a workflow mounts nothing',
  options: 'no flag of the engine comes from a workflow; expected `health-check`, `command` or `env`',
  credentials: 'the engine of the runner logs in to registries',
  entrypoint: 'expected `command`, the arguments for the image’s own entry point',
  variables: 'expected `env`',
  environment: 'expected `env`',
  healthcheck: 'expected `health-check`',
  name: 'expected `image`; the key of the service is its name',
  alias: 'the key of the service is its name',
};

const NO_EVENT = 'no event is needed for a run that a person asks for, with `vole submit`';
const NO_TIMER = 'there is no timer; expected one of the host that calls `vole submit`';

/** Of names and of keys alike. */
export const EVENT_HINTS: Hints = {
  workflow_dispatch: NO_EVENT,
  manual: NO_EVENT,
  schedule: NO_TIMER,
  cron: NO_TIMER,
  pull_request_target: 'expected `pull_request`; one of a fork runs as untrusted',
  merge_request: 'expected `pull_request`',
  issue_comment: 'expected `commands` at the root',
  tag: 'expected `push` with `tags`',
};

const FILTER: Hints = {
  'branches-ignore': 'expected `branches` with a `!` before what is left out',
  'tags-ignore': 'expected `tags` with a `!` before what is left out',
  'paths-ignore': 'expected `paths` with a `!` before what is left out',
  types: 'a pull request counts when it is opened, reopened or has new commits',
};

const STRATEGY: Hints = {
  'max-parallel': 'how many run at once is for the runner to say, with `--jobs`',
};

const ARTIFACT: Hints = { path: 'expected `paths`' };

const ANYWHERE: Hints = { '<<': 'keys are not merged; expected them here, or an alias for the whole value' };

function hintsAt(map: YamlPath): Hints {
  const [section, , key, , inner] = map;
  const inJob = section === 'jobs' || section === 'commands';
  if (map.length === 0) return ROOT;
  if (section === 'on') return map.length === 1 ? EVENT_HINTS : FILTER;
  if (!inJob) return {};
  if (map.length === 2) return section === 'jobs' ? JOB : COMMAND;
  if (key === 'strategy') return STRATEGY;
  if (key === 'steps' && inner === undefined) return STEP;
  if (key === 'services' && inner === undefined) return SERVICE;
  return key === 'artifacts' ? ARTIFACT : {};
}

/** Actions whose work vole does in a way of its own. */
const ACTIONS: readonly (readonly [RegExp, string])[] = [
  [/^actions\/checkout\b/, 'the source is checked out before the first step; leave this one out'],
  [/^actions\/cache\b/, 'what a job leaves in the folder `$VOLE_CACHE` is kept for the next'],
  [/^actions\/(up|down)load-artifact\b/, 'expected `artifacts` in the job instead of this step'],
];

/** What a key that is not known here may have been meant for, or null; `map` is where it stands. */
export function keyHint(map: YamlPath, key: string, value: Plain | undefined): string | null {
  if (key === 'uses' && typeof value === 'string') {
    const own = ACTIONS.find(([pattern]) => pattern.test(value));
    if (own) return own[1];
  }
  const hints = [ANYWHERE, hintsAt(map)].find((table) => Object.hasOwn(table, key));
  if (hints) return hints[key] ?? null;
  if (map[2] === 'strategy' && map.length === 3 && Array.isArray(value)) return 'expected it in `matrix`';
  return map.length === 0 && looksLikeJob(value) ? 'expected it under `jobs`, if it is a job' : null;
}

/** GitLab's jobs stand at the root. */
function looksLikeJob(value: Plain | undefined): boolean {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  return ['steps', 'script', 'run', 'stage', 'runs-on'].some((key) => Object.hasOwn(value, key));
}
