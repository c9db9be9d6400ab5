/** What the agent's server asks of `rg`, and all that the stand-in understands. */
export interface SearchRequest {
  /** Null lists files. */
  readonly pattern: string | null;
  /** File or folder, relative to the working directory. */
  readonly path: string;
  /** Names that begin with a dot too. */
  readonly hidden: boolean;
  /** In order, the last that matches decides; `!` excludes. */
  readonly globs: readonly string[];
}

const IGNORED = new Set(['--no-config', '--no-messages', '--follow', '--json']);

/** Or which argument it does not know, so that nothing is answered to a question that was not understood. */
export function parseSearch(args: readonly string[]): SearchRequest | string {
  const globs: string[] = [];
  const rest: string[] = [];
  let [hidden, files, ended] = [false, false, false];
  for (const arg of args) {
    if (ended || !arg.startsWith('--')) rest.push(arg);
    else if (arg === '--') ended = true;
    else if (arg === '--hidden') hidden = true;
    else if (arg === '--files') files = true;
    else if (arg.startsWith('--glob=')) globs.push(arg.slice('--glob='.length));
    else if (!IGNORED.has(arg)) return arg;
  }
  if (!files && !args.includes('--json')) return 'a search without --json';
  const pattern = files ? null : (rest.shift() ?? null);
  if (!files && pattern === null) return 'a search without a pattern';
  const [path = '.'] = rest;
  return { pattern, path, hidden, globs };
}
