import { createHmac, randomUUID } from 'node:crypto';

export interface Delivery {
  readonly event: string;
  /** `X-Gitea-Event-Type`, where it says more. */
  readonly type?: string;
  readonly payload: unknown;
  readonly secret: string;
  /** A new one by default, as for a replay. */
  readonly id?: string;
  /** More headers, or others; null takes one away. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

/** Sends one webhook as Gitea does, signed over its raw body. The status of the answer. */
export async function deliver(hookUrl: string, delivery: Delivery): Promise<number> {
  const body = typeof delivery.payload === 'string' ? delivery.payload : JSON.stringify(delivery.payload);
  const signature = createHmac('sha256', delivery.secret).update(body).digest('hex');
  const id = delivery.id ?? randomUUID();
  const wanted: Record<string, string | null> = {
    'content-type': 'application/json',
    'x-gitea-delivery': id,
    'x-gitea-event': delivery.event,
    'x-gitea-event-type': delivery.type ?? delivery.event,
    'x-gitea-signature': signature,
    'x-github-delivery': id,
    'x-github-event': delivery.event,
    'x-hub-signature-256': `sha256=${signature}`,
    ...delivery.headers,
  };
  const headers = Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
  const reply = await fetch(hookUrl, { method: 'POST', headers, body });
  await reply.arrayBuffer();
  return reply.status;
}
