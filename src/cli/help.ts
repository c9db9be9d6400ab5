import type { Command } from 'commander';

export interface Example {
  readonly command: string;
  readonly what: string;
}

const examples = new WeakMap<Command, readonly Example[]>();

/** Adds examples to a command's help; `docs/cli.md` shows the same ones. */
export function withExamples(command: Command, list: readonly Example[]): Command {
  examples.set(command, list);
  const lines = list.map(({ command, what }) => `  ${command}\n      ${what}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

export function examplesOf(command: Command): readonly Example[] {
  return examples.get(command) ?? [];
}
