import { processContext } from './context.ts';
import { runCli } from './program.ts';
import { reportError } from './report-error.ts';

/**
 * Runs a command line as this process. The exit code is set, not forced, so that what is still being
 * written to a pipe gets there, unless the command leaves it. An error that nobody caught ends the process: what it left half done
 * is not to be built upon.
 */
export async function runProcess(argv: readonly string[]): Promise<void> {
  const context = processContext();
  process.on('uncaughtException', (error) => {
    const { exit, lines } = reportError(error, argv.includes('--verbose'));
    for (const line of lines) context.stderr(`${line}\n`);
    process.exit(exit);
  });
  process.exitCode = await runCli(argv, context);
  if (context.leavesOutput) process.exit();
}
