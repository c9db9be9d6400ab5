import { type ApiRunDetail, runDetailSchema } from '../../shared/api.ts';
import { VoleError } from '../../shared/errors.ts';
import { type LogRecord, parseRecord } from '../../shared/log-record.ts';
import { isFinal } from '../../shared/outcome.ts';

export interface FollowEvents {
  record(run: number, record: LogRecord): void;
  /** A new attempt begins: the one before was lost or given back. */
  attempt(run: number, attempt: number): void;
}

/** Follows one run's log over HTTP to its end, over as many attempts as it takes. */
export async function followRun(
  server: { url: string; token: string },
  run: number,
  events: FollowEvents,
): Promise<ApiRunDetail> {
  for (let attempt = 1; ; attempt++) {
    if (attempt > 1) events.attempt(run, attempt);
    await followAttempt(server, run, attempt, events);
    const detail = await getRun(server, run);
    if (isFinal(detail.state) && detail.attempt <= attempt) return detail;
  }
}

export async function getRun(server: { url: string; token: string }, run: number): Promise<ApiRunDetail> {
  const reply = await get(server, `/api/runs/${run}`);
  return runDetailSchema.parse(await reply.json());
}

async function followAttempt(
  server: { url: string; token: string },
  run: number,
  attempt: number,
  events: FollowEvents,
): Promise<void> {
  const reply = await get(server, `/api/runs/${run}/log?follow=1&attempt=${attempt}`);
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of reply.body ?? []) {
    const lines = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const record = parseRecord(line);
      if (record) events.record(run, record);
    }
  }
}

async function get(server: { url: string; token: string }, route: string): Promise<Response> {
  const reply = await fetch(server.url + route, { headers: { authorization: `Bearer ${server.token}` } });
  if (!reply.ok) throw new VoleError('internal', `${route}: ${reply.status} ${await reply.text()}`);
  return reply;
}
