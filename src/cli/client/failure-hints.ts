import type { StepOutcome } from '../../shared/outcome.ts';

export interface FailureFacts {
  /** Of the run. */
  readonly reason: string | null;
  /** The step that decided it; null where it was none. */
  readonly step: Pick<StepOutcome, 'exitCode' | 'signal' | 'reason'> | null;
  /** The last lines of that step. */
  readonly lines: readonly string[];
}

interface Hint {
  readonly applies: (facts: FailureFacts) => boolean;
  readonly text: string;
}

/**
 * What sh says of the commands and the syntax of bash in a step's own script: bash itself says `line 3:`, and what
 * a step starts has another name.
 */
const BASH_IN_SH =
  /(?:^|\/)step-\d+\.sh: \d+: (?:(?:\[\[|source|pushd|popd|shopt|declare|typeset|mapfile|readarray): not found|Bad substitution|Syntax error: (?:"\("|redirection) unexpected|(?:set: )?Illegal option -o pipefail)/;

/** The first that applies is said, so what is sure stands before what is likely. */
const HINTS: readonly Hint[] = [
  {
    applies: ({ reason }) => reason === 'out-of-memory',
    text: 'it was killed for want of memory: have it use less, or give its container more (`vole runner --container-memory`)',
  },
  {
    applies: ({ step }) =>
      step !== null && byItself(step) && (step.exitCode === 137 || step.signal === 'SIGKILL'),
    text: 'a process was killed (SIGKILL; a shell says 137), often because the host had no memory left: `dmesg` on it says so',
  },
  {
    applies: ({ step, lines }) =>
      step !== null && byItself(step) && lines.some((line) => BASH_IN_SH.test(line)),
    text: 'this looks like bash, and a step is executed by sh: give it `shell: bash`',
  },
  {
    applies: ({ step }) => step !== null && byItself(step) && step.exitCode === 127,
    text: '127 is a command that was not found: is it installed on the host or in the image, and on the PATH?',
  },
  {
    applies: ({ step }) => step !== null && byItself(step) && step.exitCode === 126,
    text: '126 is a file that may not be executed: `git update-index --chmod=+x FILE`, or start it by its interpreter',
  },
  {
    applies: ({ reason }) => reason === 'disk-full',
    text: 'the disk of the host is full: `vole cache ls` there says what its caches take, `vole cache trim` makes room',
  },
  {
    applies: ({ reason }) => reason === 'timeout',
    text: '`timeout-minutes` of the job or of the step is how long it may take',
  },
  {
    applies: ({ reason, step }) => reason === 'lost' && step?.reason === 'lost',
    text: 'a step of that host killed its own parent, or the host had no memory left: `dmesg` on it, and the runs beside it then',
  },
  {
    applies: ({ reason }) => reason === 'lost',
    text: 'nothing was heard of its runner any more: is the host up, and is `vole runner` on it?',
  },
];

/** What may have to be known to make anything of how a run ended; null where nothing is known. */
export function failureHint(facts: FailureFacts): string | null {
  return HINTS.find(({ applies }) => applies(facts))?.text ?? null;
}

/** It ended as it did without our doing, as it would at a timeout. */
function byItself({ reason }: Pick<StepOutcome, 'reason'>): boolean {
  return (
    reason === 'exit' || reason === 'signal' || reason === 'command-not-found' || reason === 'not-executable'
  );
}
