import { TREE_CGROUP_FILE } from '../../shared/agent/access.ts';
import { OPENCODE_VERSION } from './opencode-binary.ts';

const PLUGIN = '@opencode-ai/plugin';

/**
 * All that the server's configuration folder has: what makes the server believe that it is installed, since it
 * would fetch it otherwise, and the one file that the server puts there itself.
 */
export const CONFIG_FILES: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ dependencies: { [PLUGIN]: OPENCODE_VERSION } })}\n`,
  'package-lock.json': `${JSON.stringify({
    lockfileVersion: 3,
    packages: { '': { dependencies: { [PLUGIN]: OPENCODE_VERSION } } },
  })}\n`,
  '.gitignore': ['node_modules', 'package.json', 'package-lock.json', 'bun.lock', '.gitignore'].join('\n'),
};

/** As a word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What is found as `rg`, behind all of PATH. */
export function searchProgram(node: string, searchFile: string): string {
  return `#!/bin/sh\nexec ${quoted(node)} ${quoted(searchFile)} "$@"\n`;
}

export interface WrapperParts {
  readonly jobs: string;
  readonly directory: string;
  /** First on the PATH of commands. Not on the server's: agents can write there, and it runs git. */
  readonly programs: string;
}

/**
 * What the agent's server runs a command by, in place of bash. One server works for many runs, so what a
 * command starts is told apart here: by its working directory, which the server keeps within the run's tree,
 * it gets the run's marker and joins the run's cgroup. What only the server needs is taken out of its
 * environment.
 */
export function shellWrapper({ jobs, directory, programs }: WrapperParts): string {
  return `#!/bin/sh
jobs=${quoted(jobs)}
here=$(pwd -P)
case $here/ in
  "$jobs"/*)
    tree=\${here#"$jobs"/}
    tree=\${tree%%/*}
    VOLE_JOB_MARKER=${quoted(`${directory}/`)}$tree
    HOME=$jobs/$tree/home
    TMPDIR=$jobs/$tree/tmp
    export VOLE_JOB_MARKER HOME TMPDIR
    if read -r cgroup 2>/dev/null <"$jobs/$tree/${TREE_CGROUP_FILE}"; then
      { echo 0 >"$cgroup/cgroup.procs"; } 2>/dev/null
    fi
    ;;
esac
PATH=${quoted(programs)}:$PATH
export PATH
unset jobs here tree cgroup OPENCODE_SERVER_PASSWORD OPENCODE_CONFIG_CONTENT OPENCODE_PID SHELL
command -v bash >/dev/null && exec bash "$@"
exec sh "$@"
`;
}
