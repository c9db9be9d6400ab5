import { statSync } from 'node:fs';

/** Bytes of a file; 0 where it is not there. */
export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
