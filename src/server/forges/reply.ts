/** What a forge answered, or why it gave no answer that could be used. */
export type Reply<T> = { readonly ok: true; readonly value: T } | ForgeFailure;

export interface ForgeFailure {
  readonly ok: false;
  /** Null where no whole answer came. */
  readonly status: number | null;
  /** One line of at most 500 characters, without the token. */
  readonly why: string;
  /** It asked to be left alone for so long, all of its API. */
  readonly retryAfterMs: number | null;
  /** False where nothing was sent, since it still wants to be left alone. */
  readonly asked: boolean;
}
