import os from 'node:os';
import path from 'node:path';
import type { CliContext } from './context.ts';

/** Where caches and saved checkouts of `vole run` stay from one run to the next. */
export function defaultDir(context: CliContext): string {
  const base = context.env['XDG_CACHE_HOME'] || path.join(os.homedir(), '.cache');
  return path.join(base, 'vole');
}
