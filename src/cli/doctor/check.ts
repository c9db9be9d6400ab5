/**
 * One thing that was looked at. `missing` means that vole does not work without it, `warn` that it
 * works less well or less safely. `remedy` is what to do about it, empty where all is well.
 */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'missing';
  readonly found: string;
  readonly remedy: string;
}

export function ok(name: string, found: string): Check {
  return { name, status: 'ok', found, remedy: '' };
}

export function warn(name: string, found: string, remedy: string): Check {
  return { name, status: 'warn', found, remedy };
}

export function missing(name: string, found: string, remedy: string): Check {
  return { name, status: 'missing', found, remedy };
}
