import { oneLine } from '../../shared/errors.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface HttpLimits {
  /** For the whole exchange, its last byte included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export type HttpReply =
  | { readonly ok: true; readonly status: number; readonly headers: Headers; readonly text: string }
  /** `late`: the time was over, and what was asked for may still be done. */
  | { readonly ok: false; readonly why: string; readonly late: boolean };

/**
 * One request, its answer whole and bounded. A redirect is an answer like another: following it would turn a
 * POST into a GET and take the token along.
 */
export async function exchange(
  request: HttpRequest,
  limits: HttpLimits,
  signal: AbortSignal,
): Promise<HttpReply> {
  // One controller of its own: signals that are made of others stay with the longest-lived of them.
  const ending = new AbortController();
  const end = () => ending.abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end();
  }, limits.timeoutMs);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    const reply = await fetch(request.url, {
      method: request.method,
      redirect: 'manual',
      headers: {
        ...request.headers,
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      signal: ending.signal,
    });
    const text = await boundedText(reply, limits.maxBytes);
    if (text === null) return { ok: false, why: `the answer is over ${limits.maxBytes} bytes`, late: false };
    return { ok: true, status: reply.status, headers: reply.headers, text };
  } catch (error) {
    if (late) return { ok: false, why: `no whole answer within ${limits.timeoutMs / 1000} s`, late };
    return { ok: false, why: signal.aborted ? 'vole is closing' : causeOf(error), late };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** Null where it is longer; the rest is not read. */
async function boundedText(reply: Response, maxBytes: number): Promise<string | null> {
  if (reply.body === null) return '';
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of reply.body) {
    size += part.byteLength;
    if (size > maxBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** `fetch failed` says nothing; what it was caused by does. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return oneLine(error);
  const { code } = cause as NodeJS.ErrnoException;
  return oneLine(cause) || (code ?? oneLine(error));
}
