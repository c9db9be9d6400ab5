/** What a forge answered, or why it gave no answer that could be used. */
export type Reply<T> = { readonly ok: true; readonly value: T } | ForgeFailure;

export interface ForgeFailure {
  readonly ok: false;
  /** Null where no whole answer came. */
  readonly status: number | null;
  /** One line of at most 500 characters, without the token. */
  readonly why: string;
  /** Not to be tried again before: it asked for it, or may still be at work on this. */
  readonly retryAfterMs: number | null;
  /** False where nothing was sent, since it still wants to be left alone. */
  readonly asked: boolean;
}
