import type { Command } from 'commander';

export interface Example {
  readonly command: string;
  readonly what: string;
}

const examples = new WeakMap<Command, readonly Example[]>();

/** Adds examples to a command's help; `docs/cli.md` shows the same ones. */
export function withExamples(command: Command, list: readonly Example[]): Command {
  examples.set(command, list);
  return command.addHelpText('after', helpText(list));
}

/** Adds to the help of a group, such as `vole key`, an example of each of its commands; in `docs/cli.md` they stand there. */
export function withExamplesOfParts(group: Command): Command {
  const list = group.commands.flatMap((part) => {
    const own = examplesOf(part).find(({ command }) => command.startsWith('vole '));
    return own ? [own] : [];
  });
  return list.length === 0 ? group : group.addHelpText('after', helpText(list));
}

function helpText(list: readonly Example[]): string {
  const lines = list.map(({ command, what }) => `  ${command}\n      ${what}`);
  return `\nExamples:\n${lines.join('\n')}`;
}

export function examplesOf(command: Command): readonly Example[] {
  return examples.get(command) ?? [];
}
