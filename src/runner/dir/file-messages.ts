import type { Part } from './measure-tree.ts';

/** What the main thread asks of a file thread, one question at a time, and what that answers. */
export type FileQuestion =
  | { what: 'remove'; paths: readonly string[] }
  | { what: 'measure'; path: string }
  /** Parts of a measurement that another thread gave away. */
  | { what: 'measure-parts'; parts: readonly Part[] };

export type FileAnswer =
  /** Of each path what is left of it. */
  | { what: 'removed'; left: readonly (readonly string[])[] }
  | { what: 'measured'; bytes: number; linked: Float64Array | null }
  | { what: 'failed'; why: string }
  /** Not the answer yet: some of it is for another thread. */
  | { what: 'given'; parts: readonly Part[] };

/** Places in the memory that file threads share with the main thread. */
export const SHARED = { idleThreads: 0, entries: 1 } as const;
