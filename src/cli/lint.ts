import { Command } from 'commander';
import type { CliContext } from './context.ts';

export function lintCommand(_context: CliContext): Command {
  return new Command('lint').description('check a workflow file');
}
