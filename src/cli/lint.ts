import { createReadStream } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { ERRORS, oneLine, VoleError } from '../shared/errors.ts';
import { type Fault, faultLines, type ParsedWorkflow } from '../shared/workflow/types.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { readText } from './read-text.ts';

export function lintCommand(context: CliContext): Command {
  const command = new Command('lint')
    .summary('check a workflow file')
    .description(
      'Check a workflow file, and say of each fault its file, line, column and what is expected. Exit status 65 where there is one.',
    )
    .argument('[FILE]', 'the workflow file, or - for standard input', '.vole.yml')
    .option('--json', 'print one JSON object')
    .action(async (file: string, options: { json?: boolean }) => {
      const { parseWorkflow } = await import('../shared/workflow/parse.ts');
      const name = file === '-' ? 'standard input' : file;
      const parsed = parseWorkflow(await textOf(file, context), name);
      print(parsed, name, options.json ?? false, context);
      if (!parsed.ok) context.exitCode = ERRORS['workflow-invalid'].exit;
    });
  return withExamples(command, [
    { command: 'vole lint', what: 'check .vole.yml here' },
    { command: 'git show HEAD:.vole.yml | vole lint -', what: 'check it as it was committed' },
  ]);
}

async function textOf(file: string, context: CliContext): Promise<string> {
  if (file === '-') return context.stdin();
  try {
    return await readText(createReadStream(path.resolve(context.cwd, file)), file);
  } catch (error) {
    if (error instanceof VoleError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR')
      throw new VoleError(
        'usage',
        `${file} is a folder; name the workflow file in it, or - for standard input`,
      );
    if (code === 'ENOENT')
      throw new VoleError('not-found', `there is no file ${file}; name another, or - for standard input`);
    throw new VoleError('io-error', `${file} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}

function print(parsed: ParsedWorkflow, file: string, json: boolean, context: CliContext): void {
  const faults: readonly Fault[] = parsed.ok ? [] : parsed.faults;
  if (json) {
    const jobs = parsed.ok
      ? parsed.workflow.jobs.map(({ id, matrix }) => ({ id, runs: matrix?.length ?? 1 }))
      : [];
    context.stdout(`${JSON.stringify({ file, ok: parsed.ok, faults, jobs })}\n`);
  } else if (parsed.ok) {
    const { jobs, commands } = parsed.workflow;
    const runs = jobs.reduce((sum, { matrix }) => sum + (matrix?.length ?? 1), 0);
    const parts = [`jobs: ${jobs.length}`, `runs: ${runs}`, `commands: ${commands.length}`];
    context.stdout(`${file}: no faults (${parts.join(', ')})\n`);
  } else {
    for (const line of faultLines(parsed)) context.stderr(`${line}\n`);
  }
}
