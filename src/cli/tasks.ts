import { Command } from 'commander';
import type { ApiTask, TaskState } from '../shared/api-forge.ts';
import { counted } from '../shared/counted.ts';
import { VoleError } from '../shared/errors.ts';
import { addClientOptions, type Options, printJson, withAdmin } from './client/client-command.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

const MOST = 1000;

/** `vole tasks`: the server's own work on the forges, and what it could not do. */
export function tasksCommand(context: CliContext): Command {
  const command = new Command('tasks').description("see and retry the server's work on the forges");
  command.addCommand(listTasks(context), { isDefault: true });
  command.addCommand(retryTasks(context));
  return command;
}

function listTasks(context: CliContext): Command {
  const command = new Command('ls')
    .description('list what waits, is being done, or was given up (dead)')
    .option('--dead', 'only what was given up')
    .option('--all', 'also what is done');
  withExamples(addClientOptions(command), [
    { command: 'vole tasks ls --dead --data /var/lib/vole-server', what: 'what was given up, and why' },
  ]);
  return command.action(async (options: Options) => {
    const open: TaskState[] = options['dead'] ? ['dead'] : ['waiting', 'claimed', 'dead'];
    const states: TaskState[] = options['all'] ? [...open, 'done'] : open;
    const tasks = await withAdmin(options, context, (admin) => admin.tasks(states, MOST));
    if (options['json']) return printJson(context, { tasks });
    context.stdout(
      table(['TASK', 'KIND', 'STATE', 'FAILED', 'REPOSITORY', 'ABOUT', 'WHY'], tasks.map(rowOf)),
    );
  });
}

function retryTasks(context: CliContext): Command {
  const command = new Command('retry')
    .description('try again what was given up')
    .argument('[task...]', 'by number, as `vole tasks ls` prints them')
    .option('--all', 'all of it');
  withExamples(addClientOptions(command), [
    { command: 'vole tasks retry --all --data /var/lib/vole-server', what: 'when the forge is well again' },
  ]);
  return command.action(async (texts: string[], options: Options) => {
    const ids = texts.map(taskId);
    if ((ids.length === 0) === (options['all'] !== true))
      throw new VoleError('usage', 'give tasks by number, or --all');
    const missing: number[] = [];
    const retried = await withAdmin(options, context, async (admin) => {
      if (ids.length === 0) return admin.retryTasks(null);
      let count = 0;
      for (const id of ids) {
        const changed = await admin.retryTasks(id);
        if (changed === 0) missing.push(id);
        count += changed;
      }
      return count;
    });
    if (options['json']) printJson(context, { retried });
    else context.stdout(`${counted(retried, 'task')} ${retried === 1 ? 'is' : 'are'} tried again\n`);
    if (missing.length > 0)
      throw new VoleError('not-found', missing.map((id) => `no dead task ${id}`).join('\n'));
  });
}

function rowOf(task: ApiTask): string[] {
  const subject = task.subject.replace(/^([0-9a-f]{12})[0-9a-f]{28,}/, '$1');
  return [
    String(task.id),
    task.kind,
    task.state,
    String(task.attempts),
    task.repository,
    subject,
    task.error,
  ];
}

function taskId(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new VoleError('usage', `'${text}' is no task; give its number, as \`vole tasks ls\` prints it`);
  return Number(text);
}
