import picomatch from 'picomatch';

/** Whether `name` (`owner/name`) is one that `globs` take; none takes all. `*` matches within a part. */
export function matchesRepository(globs: readonly string[], name: string): boolean {
  return globs.length === 0 || globs.some((glob) => picomatch.isMatch(name, glob, { dot: true }));
}
