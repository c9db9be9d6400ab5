/** What the main thread asks of the file thread, and what it answers, by id. */
export type FileQuestion = { id: number; what: 'remove' | 'measure'; path: string };

export type FileAnswer =
  | { id: number; what: 'removed'; left: readonly string[] }
  | { id: number; what: 'measured'; bytes: number }
  | { id: number; what: 'failed'; why: string };
