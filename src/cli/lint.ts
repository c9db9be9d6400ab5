import { createReadStream } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { ERRORS, oneLine, VoleError } from '../shared/errors.ts';
import { type Fault, faultLines, type ParsedWorkflow } from '../shared/workflow/types.ts';
import { baseEnv } from './base-env.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { readText } from './read-text.ts';

export function lintCommand(context: CliContext): Command {
  const command = new Command('lint')
    .summary('check a workflow file')
    .description(
      'Check a workflow file, and say of each fault its file, line, column and what is expected. Exit status 65 where there is one.',
    )
    .argument(
      '[FILE]',
      'the workflow file, or - for standard input; by default .vole.yml at the top of the repository',
    )
    .option('--json', 'print one JSON object')
    .action(async (given: string | undefined, options: { json?: boolean }) => {
      const { parseWorkflow } = await import('../shared/workflow/parse.ts');
      const { file, stray } = given === undefined ? await workflowHere(context) : { file: given, stray: '' };
      const name = file === '-' ? 'standard input' : file;
      const parsed = parseWorkflow(await textOf(file, stray, context), name);
      print(parsed, name, options.json ?? false, context);
      if (!parsed.ok) context.exitCode = ERRORS['workflow-invalid'].exit;
    });
  return withExamples(command, [
    { command: 'vole lint', what: 'check .vole.yml of the repository you stand in' },
    { command: 'git show HEAD:.vole.yml | vole lint -', what: 'check it as it was committed' },
  ]);
}

/** The same file that `vole run` reads, or would if it were committed; without a repository the one here. */
async function workflowHere(context: CliContext): Promise<{ file: string; stray: string }> {
  const { gitIn, repositoryTop, strayWorkflow, wayToWorkflow } = await import('./repository-here.ts');
  const { cwd } = context;
  const git = gitIn(cwd, { ...baseEnv(context, []), HOME: os.homedir() });
  const top = (await repositoryTop(git).catch(withoutGit)) ?? cwd;
  return { file: wayToWorkflow(cwd, top), stray: strayWorkflow(cwd, top) };
}

/** A file can be checked on a host that has none. */
function withoutGit(error: unknown): null {
  if (error instanceof VoleError && error.code === 'missing-tool') return null;
  throw error;
}

async function textOf(file: string, stray: string, context: CliContext): Promise<string> {
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
      throw new VoleError(
        'not-found',
        `there is no file ${file}; ${stray === '' ? '' : `${stray}; `}name another, or - for standard input`,
      );
    throw new VoleError('io-error', `${file} cannot be read: ${oneLine(error)}`, { cause: error });
  }
}

function print(parsed: ParsedWorkflow, file: string, json: boolean, context: CliContext): void {
  if (json) {
    const faults: readonly Fault[] = parsed.ok ? [] : parsed.faults;
    const more = !parsed.ok && parsed.more;
    const jobs = parsed.ok
      ? parsed.workflow.jobs.map(({ id, matrix }) => ({ id, runs: matrix?.length ?? 1 }))
      : [];
    context.stdout(`${JSON.stringify({ file, ok: parsed.ok, faults, more, jobs })}\n`);
  } else if (parsed.ok) {
    const { jobs, commands } = parsed.workflow;
    const runs = jobs.reduce((sum, { matrix }) => sum + (matrix?.length ?? 1), 0);
    const parts = [`jobs: ${jobs.length}`, `runs: ${runs}`, `commands: ${commands.length}`];
    context.stdout(`${file}: no faults (${parts.join(', ')})\n`);
  } else {
    for (const line of faultLines(parsed)) context.stderr(`${line}\n`);
  }
}
