/**
 * Every setting of vole, once. The TypeScript types, the command line's options, validation,
 * `docs/configuration.md` and `packaging/runner.env` come from this table. A value is looked for as
 * the flag, then in the environment (`VOLE_` and the flag's name), then here. Nothing else reads
 * `process.env`.
 */
export type SettingKind =
  | { type: 'string'; maxLength?: number }
  /** Letters, digits, `-` and `_`, at most 30. */
  | { type: 'word' }
  | { type: 'path' }
  | { type: 'list'; separator: ','; maxItems?: number; maxLength?: number }
  | { type: 'flag' }
  | { type: 'int'; min: number; max: number }
  | { type: 'number'; min: number; max: number }
  | { type: 'choice'; of: readonly string[] }
  /** Milliseconds in code; `90`, `90s`, `15m`, `2h`, `1d` in text (a bare number is seconds). */
  | { type: 'duration'; minMs: number; maxMs: number }
  /** Bytes in code; `500M`, `10GiB`, `1073741824` in text. */
  | { type: 'bytes'; min: number }
  /** Bytes as above or a share of the file system, `50%`. */
  | { type: 'size-or-share' }
  /** `HOST:PORT`; port 0 takes a free one. */
  | { type: 'address' }
  /** `https://HOST/PATH` without user, query or slash at its end. */
  | { type: 'web-url' };

export type Command = 'server' | 'runner' | 'run' | 'bench' | 'cache' | 'client' | 'doctor';

export interface Setting {
  readonly kind: SettingKind;
  /** As text, as on the command line; null has none. */
  readonly default: string | null;
  readonly commands: readonly Command[];
  /** Those of `commands` that do not start without it; for the others it may be left out. */
  readonly required?: readonly Command[];
  /** A variable of another name that is read where neither flag nor own variable is given. */
  readonly otherEnv?: string;
  /** Placeholder in the help. */
  readonly value?: string;
  readonly doc: string;
}

const int = (min: number, max: number) => ({ type: 'int', min, max }) as const;
const duration = (minMs: number, maxMs: number) => ({ type: 'duration', minMs, maxMs }) as const;
const DAY = 86_400_000;

export const SETTINGS = {
  // server
  data: {
    kind: { type: 'path' },
    default: null,
    commands: ['server', 'client'],
    required: ['server'],
    value: 'DIR',
    doc: 'Directory of the server: database, host key, logs, artifacts. `vole server` makes it if it is not there; other commands find the address and the admin token in it.',
  },
  http: {
    kind: { type: 'address' },
    default: '127.0.0.1:8080',
    commands: ['server'],
    value: 'HOST:PORT',
    doc: 'Where the pages and the HTTP API listen; port 0 takes a free one. On a loopback address whoever reaches the port reads everything but keys and secrets without a token: every user of this host, and everybody whom a proxy lets in. On any other address reading needs the admin token, and writing needs it always.',
  },
  'public-url': {
    kind: { type: 'web-url' },
    default: null,
    commands: ['server'],
    value: 'URL',
    doc: 'Where people and forges reach the HTTP address, such as https://ci.example: links in commit statuses and comments begin with it, and the addresses of webhooks. By default the address that HTTP listens on.',
  },
  ssh: {
    kind: { type: 'address' },
    default: '127.0.0.1:2222',
    commands: ['server'],
    value: 'HOST:PORT',
    doc: 'Where runners connect; port 0 takes a free one.',
  },
  'ssh-max-connections': {
    kind: int(1, 100_000),
    default: '1024',
    commands: ['server'],
    value: 'N',
    doc: 'Most SSH connections at once. Every slot of every runner process needs one.',
  },
  'ssh-max-connections-per-account': {
    kind: int(1, 100_000),
    default: '512',
    commands: ['server'],
    value: 'N',
    doc: 'Most SSH connections of one account at once.',
  },
  'lease-time': {
    kind: duration(1_000, DAY),
    default: '300s',
    commands: ['server'],
    value: 'TIME',
    doc: 'How long a runner may be silent before its run is queued again.',
  },
  'max-concurrent-commands': {
    kind: int(1, 32),
    default: '2',
    commands: ['server'],
    value: 'N',
    otherEnv: 'AGENTCI_MAX_CONCURRENT_JOBS',
    doc: 'Most commands (runs that a comment started) at once, over all repositories. Also read from `AGENTCI_MAX_CONCURRENT_JOBS`.',
  },
  agent: {
    kind: { type: 'flag' },
    default: 'false',
    commands: ['server'],
    doc: 'Have a coding agent carry out the commands that a repository does not define itself. Its runs need a runner that has been set up for agents.',
  },
  'command-word': {
    kind: { type: 'word' },
    default: 'agent',
    commands: ['server'],
    value: 'WORD',
    doc: 'What comments that ask for a command begin with, after a slash: `/agent plan`.',
  },
  // runner
  server: {
    kind: { type: 'string' },
    default: null,
    commands: ['runner'],
    required: ['runner'],
    value: 'ssh://ACCOUNT@HOST:PORT',
    doc: 'The server and the account.',
  },
  key: {
    kind: { type: 'path' },
    default: null,
    commands: ['runner'],
    required: ['runner'],
    value: 'FILE',
    doc: 'Private key of the account (OpenSSH format, no passphrase).',
  },
  'host-key': {
    kind: { type: 'string' },
    default: null,
    commands: ['runner'],
    required: ['runner'],
    value: 'FILE|SHA256:...',
    doc: "The server's host key: a file that holds it, or its fingerprint.",
  },
  dir: {
    kind: { type: 'path' },
    default: null,
    commands: ['runner', 'cache', 'run', 'doctor'],
    required: ['runner', 'cache'],
    value: 'DIR',
    doc: 'Directory shared by all runner processes of this host: caches, saved checkouts, job trees, locks. `vole run` takes `vole` in $XDG_CACHE_HOME or ~/.cache by default.',
  },
  jobs: {
    kind: int(1, 256),
    default: '1',
    commands: ['runner', 'run', 'doctor'],
    value: 'N',
    doc: 'Slots: how many runs this process executes at once, each over an SSH session of its own.',
  },
  once: {
    kind: { type: 'flag' },
    default: 'false',
    commands: ['runner'],
    doc: 'Ask for one run a slot, then end.',
  },
  'exit-status': {
    kind: { type: 'flag' },
    default: 'false',
    commands: ['runner'],
    doc: 'With --once: end with 1 where a run did not pass.',
  },
  'lease-wait': {
    kind: duration(0, 60_000),
    default: '60s',
    commands: ['runner'],
    value: 'TIME',
    doc: 'How long one lease request waits for a run, at most 60 s.',
  },
  labels: {
    kind: { type: 'list', separator: ',', maxItems: 100, maxLength: 100 },
    default: '',
    commands: ['runner'],
    value: 'A,B',
    doc: 'Labels of this runner; a job that names labels goes only where all of them are.',
  },
  repos: {
    kind: { type: 'list', separator: ',', maxItems: 1000, maxLength: 300 },
    default: '',
    commands: ['runner'],
    value: 'OWNER/NAME,...',
    doc: 'Take runs of these repositories alone; `*` matches within a part, as in `team/*`.',
  },
  'no-cache': {
    kind: { type: 'flag' },
    default: 'false',
    commands: ['runner', 'run'],
    doc: "Remove a job's cache namespace after the job, as soon as nobody else uses it.",
  },
  'cache-size': {
    kind: { type: 'size-or-share' },
    default: '50%',
    commands: ['runner', 'cache', 'run'],
    value: 'SIZE|SHARE',
    doc: 'Trim least recently used namespaces until all together are under this size. Namespaces in use may push the total over it until they finish.',
  },
  'git-size': {
    kind: { type: 'size-or-share' },
    default: '20%',
    commands: ['runner', 'cache', 'run'],
    value: 'SIZE|SHARE',
    doc: 'The same for saved checkouts.',
  },
  'min-free': {
    kind: { type: 'size-or-share' },
    default: '10%',
    commands: ['runner', 'cache', 'run', 'doctor'],
    value: 'SIZE|SHARE',
    doc: 'Trim at once when less than this is free, and take no new runs while that does not help.',
  },
  'trim-interval': {
    kind: duration(50, DAY),
    default: '15m',
    commands: ['runner', 'run'],
    value: 'TIME',
    doc: 'How often the cache is trimmed.',
  },
  'drain-timeout': {
    kind: duration(1_000, 7 * DAY),
    default: '1h',
    commands: ['runner', 'run'],
    value: 'TIME',
    doc: 'After a first SIGTERM: how long runs in flight may take before they are given back.',
  },
  'kill-grace': {
    kind: duration(0, 3_600_000),
    default: '10s',
    commands: ['runner', 'run'],
    value: 'TIME',
    doc: 'Between TERM and KILL for the processes of a run that is cancelled or out of time.',
  },
  'log-limit': {
    kind: { type: 'bytes', min: 8 * 1024 * 1024 },
    default: '64MiB',
    commands: ['runner', 'run'],
    value: 'SIZE',
    doc: "Most bytes of a run's log; past it the middle is dropped and the last 4 MiB are kept.",
  },
  'artifact-limit': {
    kind: { type: 'bytes', min: 1024 },
    default: '2GiB',
    commands: ['runner', 'run'],
    value: 'SIZE',
    doc: "Most bytes of a run's artifacts together.",
  },
  'host-jobs': {
    kind: { type: 'choice', of: ['never', 'trusted', 'always'] },
    default: 'trusted',
    commands: ['runner'],
    doc: 'Which runs may execute on the host, without a container.',
  },
  engine: {
    kind: { type: 'choice', of: ['auto', 'docker', 'podman', 'none'] },
    default: 'auto',
    commands: ['runner', 'run', 'doctor'],
    doc: 'Container engine for jobs with an `image` or `image-file`. `auto` takes docker or podman, whichever answers first, and `none` where neither does; one that is named must answer, or the runner does not start.',
  },
  'container-memory': {
    kind: { type: 'bytes', min: 6 * 1024 * 1024 },
    default: null,
    commands: ['runner', 'run'],
    value: 'SIZE',
    doc: "Most memory of one job's container, without swap beside it. A host with N slots needs N times that. No bound by default.",
  },
  'container-cpus': {
    kind: { type: 'number', min: 0.01, max: 4096 },
    default: null,
    commands: ['runner', 'run'],
    value: 'N',
    doc: "Most cores' worth of time of one job's container. No bound by default.",
  },
  'container-pids': {
    kind: int(0, 4_194_304),
    default: '4096',
    commands: ['runner', 'run'],
    value: 'N',
    doc: "Most processes and threads of one job's container; 0 leaves it to the engine.",
  },
  'container-user': {
    kind: { type: 'string', maxLength: 100 },
    default: null,
    commands: ['runner', 'run'],
    value: 'USER[:GROUP]',
    doc: "User that steps in containers run as, by name or number as the image knows it; by default the image's own.",
  },
  'image-pull': {
    kind: { type: 'choice', of: ['missing', 'always', 'never'] },
    default: 'missing',
    commands: ['runner', 'run'],
    doc: 'When an image is pulled: where this host does not have it, before every job, or never. A workflow may ask for `always` where this is `missing`.',
  },
  'image-keep': {
    kind: int(0, 100_000),
    default: '20',
    commands: ['runner', 'run'],
    value: 'N',
    doc: 'How many images built from an `image-file` this directory keeps, those that were used last; the others are removed once no job uses them.',
  },
  'service-timeout': {
    kind: duration(1_000, 3_600_000),
    default: '120s',
    commands: ['runner', 'run'],
    value: 'TIME',
    doc: 'How long a service of a job may take to be ready before the job fails.',
  },
  'job-env': {
    kind: { type: 'list', separator: ',' },
    default: '',
    commands: ['runner', 'run'],
    value: 'NAME,...',
    doc: "Variables of the runner's own environment that jobs get as well, such as HTTP_PROXY. Everything else stays out.",
  },
  machine: {
    kind: { type: 'string', maxLength: 200 },
    default: null,
    commands: ['runner'],
    value: 'NAME',
    doc: "Name of this host on the server's pages; the host name by default.",
  },
  cpus: {
    kind: { type: 'number', min: 0.1, max: 4096 },
    default: null,
    commands: ['runner'],
    value: 'N',
    doc: "Cores that this process's jobs may claim together (`cpus:` in the workflow); by default all of the host's, or --jobs where that is more.",
  },
  memory: {
    kind: { type: 'bytes', min: 1 },
    default: null,
    commands: ['runner'],
    value: 'SIZE',
    doc: "Memory that this process's jobs may claim together (`memory:`); by default the host's.",
  },
  // commands that speak to a server
  url: {
    kind: { type: 'string' },
    default: null,
    commands: ['client'],
    value: 'URL',
    doc: "The server's HTTP address, where --data is not on this machine.",
  },
  'token-file': {
    kind: { type: 'path' },
    default: null,
    commands: ['client'],
    value: 'FILE',
    doc: 'File with the admin token, for --url. A wrong one is refused, also where reading needs none.',
  },
  // all
  'log-level': {
    kind: { type: 'choice', of: ['debug', 'info', 'warn', 'error'] },
    default: 'info',
    commands: ['server', 'runner'],
    doc: "How much of vole's own log goes to standard error.",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
