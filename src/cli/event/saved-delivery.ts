/** A delivery as somebody saved it: its body alone, or with the headers above it, an empty line between. */
export interface SavedDelivery {
  readonly body: Buffer;
  /** From the headers; null where they are not there. */
  readonly event: string | null;
  readonly delivery: string | null;
  /** `owner/name` as the body says it; null where it is no JSON or names none. */
  readonly project: string | null;
}

export function savedDelivery(bytes: Buffer): SavedDelivery {
  const start = bytes.toString('latin1', 0, 64 * 1024);
  const head = /^(?:[A-Za-z0-9-]+:[^\n]*\n|(?:POST|HTTP)[^\n]*\n)+\r?\n/.exec(start)?.[0] ?? '';
  const header = (pattern: RegExp) => pattern.exec(head)?.[1]?.trim() ?? null;
  const body = bytes.subarray(head.length);
  return {
    body,
    event: header(/^x-(?:gitea|forgejo|github)-event:([^\n]*)$/im),
    delivery: header(/^x-(?:gitea|forgejo|github)-delivery:([^\n]*)$/im),
    project: projectOf(body),
  };
}

function projectOf(body: Buffer): string | null {
  try {
    const json = JSON.parse(body.toString('utf8')) as { repository?: { full_name?: unknown } } | null;
    const name = json?.repository?.full_name;
    return typeof name === 'string' ? name : null;
  } catch {
    return null;
  }
}
