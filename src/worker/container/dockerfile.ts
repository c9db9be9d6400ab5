/** Why a build may not begin from what the file names; null where it may. */
export function baseFault(_text: string): string | null {
  return null;
}
