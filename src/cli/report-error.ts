import { CommanderError } from 'commander';
import { ERRORS, oneLine, VoleError } from '../shared/errors.ts';

/** A command line that commander refused, and the command (`vole key add`) whose help says more. */
export class UsageError extends Error {
  readonly code: string;
  readonly path: string;

  constructor(cause: CommanderError, path: string) {
    super(cause.message, { cause });
    this.code = cause.code;
    this.path = path;
  }
}

export interface ErrorReport {
  readonly exit: number;
  /** What goes to standard error, without newlines at the ends; empty where nothing is to be said. */
  readonly lines: readonly string[];
}

/** What a person sees of anything thrown: a line for each fault, and the stack only with `--verbose`. */
export function reportError(error: unknown, verbose: boolean): ErrorReport {
  // Help and version are thrown too, after they were printed.
  if (error instanceof CommanderError && error.exitCode === 0) return { exit: 0, lines: [] };
  if (error instanceof UsageError) return usageReport(error);
  const known = error instanceof VoleError ? error : null;
  const lines = known
    ? known.message.split(/[\r\n]+/).map((line) => `vole: ${oneLine(line)}`)
    : [`vole: internal error: ${oneLine(error)}; run again with --verbose and report the stack`];
  if (verbose) lines.push(...stacks(error));
  return { exit: known?.exit ?? ERRORS.internal.exit, lines };
}

function usageReport(error: UsageError): ErrorReport {
  // A command that only has commands below it was called alone: its help was printed instead.
  if (error.code === 'commander.help') return { exit: ERRORS.usage.exit, lines: [] };
  const text = oneLine(error)
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .replace(/; \(Did you mean (.+?)\?\)/, ' (did you mean $1?)');
  return { exit: ERRORS.usage.exit, lines: [`vole: ${text}; see \`${error.path} --help\``] };
}

function stacks(error: unknown): string[] {
  const lines: string[] = [];
  for (let at: unknown = error; at instanceof Error && lines.length < 200; at = at.cause) {
    lines.push(...(at === error ? '' : 'caused by ').concat(at.stack ?? String(at)).split('\n'));
  }
  return lines;
}
