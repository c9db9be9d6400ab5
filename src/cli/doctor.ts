import { Command } from 'commander';
import type { CliContext } from './context.ts';

export function doctorCommand(_context: CliContext): Command {
  return new Command('doctor').description('say what this host has and lacks, with the remedy');
}
