import { ERRORS } from '../../src/shared/errors.ts';
import { GENERATED } from './generated.ts';

/** `docs/errors.md`. */
export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { exit, meaning, remedy }]) => `| ${exit} | \`${code}\` | ${meaning} | ${remedy} |`,
  );
  return [GENERATED, '# Errors and exit statuses', '', INTRODUCTION, '', HEAD, ...rows, '', AFTER, ''].join(
    '\n',
  );
}

const INTRODUCTION = `A command that stops says why on standard error, each fault in one line that starts with \`vole:\`, and what to do
about it. Its exit status tells programs what kind of error it was; most values are those of \`sysexits.h\`. The stack
of an error is printed only with \`--verbose\`.`;

const HEAD = `| exit | code | meaning | remedy |
|---|---|---|---|`;

const AFTER = `0 is success. 141 is a command whose output nobody read to its end, such as \`vole runs | head -1\`.

How a *run* ended is another matter: its state and reason stand in its record (\`vole runs --json\`), and a step's exit
code there is the one that its process ended with. \`vole runner\` exits with 0 whatever its runs did, unless
\`--exit-status\` asks for theirs.`;
