/**
 * Every way a command can stop, in one table: the code is what programs match, the exit status what
 * shells see (values from sysexits.h where one fits), the remedy what `docs/errors.md` prints.
 */
export const ERRORS = {
  'job-failed': { exit: 1, meaning: 'A job failed.', remedy: 'Read its log: `vole logs RUN`.' },
  usage: {
    exit: 2,
    meaning: 'A flag, argument or setting is wrong.',
    remedy: 'The message names the setting, the value and what is allowed; `--help` lists them.',
  },
  'workflow-invalid': {
    exit: 65,
    meaning: 'The workflow file has a fault.',
    remedy: 'The message has file, line and column; `vole lint` checks before a push.',
  },
  'not-found': {
    exit: 66,
    meaning: 'A run, repository, key, file or commit is not there.',
    remedy: 'List what is: `vole runs`, `vole repo ls`, `vole key ls`.',
  },
  'server-unreachable': {
    exit: 69,
    meaning: 'The server does not answer.',
    remedy:
      'Check the address and that `vole server` runs; of a runner, --server is the address that `vole server --ssh` listens on, not that of its pages.',
  },
  internal: {
    exit: 70,
    meaning: 'A fault in vole itself.',
    remedy: 'Run again with --verbose and report the stack.',
  },
  'missing-tool': {
    exit: 72,
    meaning: 'A program vole needs is not on this host.',
    remedy: '`vole doctor` says which, and how to install it.',
  },
  'engine-unusable': {
    exit: 69,
    meaning: 'The container engine that was asked for does not answer, or does not take this user.',
    remedy:
      'The message has its words and what to do; `docker ps` as the same user shows the same. `--engine none` runs without.',
  },
  'disk-full': {
    exit: 73,
    meaning: 'The file system is full.',
    remedy: 'Free space, or lower --cache-size and --git-size; `vole cache trim` does it now.',
  },
  'io-error': {
    exit: 74,
    meaning: 'A file or directory could not be read or written.',
    remedy: 'The message names it; check owner, mode and file system.',
  },
  'lock-held': {
    exit: 75,
    meaning: 'Another process holds what this command needs alone.',
    remedy: 'Wait for it, or end it; the message names the lock.',
  },
  'protocol-refused': {
    exit: 76,
    meaning: 'Server and runner cannot speak with one another.',
    remedy: 'Bring both to versions at most one protocol version apart.',
  },
  'host-key-refused': {
    exit: 76,
    meaning: 'The server has another host key than --host-key says.',
    remedy:
      'Compare its key with the one that `vole server` prints when it starts: where that is the same, give it to --host-key; where it is not, something else answers at this address.',
  },
  'key-refused': {
    exit: 77,
    meaning: "The server does not know a runner's key, or not for this account.",
    remedy: "Add it: `vole key add ACCOUNT FILE.pub` on the server's host.",
  },
  'auth-refused': {
    exit: 77,
    meaning: 'The server wants its admin token, or was given another one.',
    remedy: 'Give --token-file a file that holds what `admin-token` in the --data of the server holds.',
  },
  'forge-refused': {
    exit: 77,
    meaning: 'The forge does not know the token, or the token lacks a right.',
    remedy: 'The message says which right is missing; `docs/forges.md` lists what a token needs.',
  },
  'runner-refused': {
    exit: 78,
    meaning:
      'The runner is misconfigured and stopped: it was given a job it cannot understand or a filter that matches nothing, or may open too few files for its --jobs.',
    remedy:
      'The last line of its log says which. Correct --repos, raise the limit, or bring runner and server to one version, then start it again; it is not restarted by itself.',
  },
  interrupted: {
    exit: 130,
    meaning: 'Ended by a signal before the work was done.',
    remedy: 'What was in flight was given back to the queue.',
  },
} as const satisfies Record<string, { exit: number; meaning: string; remedy: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** The remedy of a code as the end of a line: without capital and full stop, and `words` for its placeholders. */
export function remedyOf(code: ErrorCode, words: Readonly<Record<string, string>> = {}): string {
  const { remedy } = ERRORS[code];
  const said = Object.entries(words).reduce(
    (text, [name, word]) => text.replaceAll(name, word),
    remedy as string,
  );
  return said.charAt(0).toLowerCase() + said.slice(1).replace(/\.$/, '');
}

/** What stops a command. `message` is one line: what, where, what to do. */
export class VoleError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VoleError';
    this.code = code;
  }

  get exit(): number {
    return ERRORS[this.code].exit;
  }
}

/** The one line of anything thrown: its message, without line breaks, at most 500 characters. */
export function oneLine(error: unknown): string {
  const line = wholeLine(error);
  return line.length > 500 ? `${line.slice(0, 499)}…` : line;
}

/** The same, however long: where secrets are still to be masked, since half of one would not be found. */
export function wholeLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*[\r\n]+\s*/g, '; ').trim();
}
