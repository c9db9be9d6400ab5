import { processContext } from './cli/context.ts';
import { runCli } from './cli/program.ts';

// The exit code is set, not forced: what is still being written to a pipe gets there.
process.exitCode = await runCli(process.argv.slice(2), processContext());
