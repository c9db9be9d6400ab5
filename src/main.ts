import { runProcess } from './cli/run-process.ts';

await runProcess(process.argv.slice(2));
