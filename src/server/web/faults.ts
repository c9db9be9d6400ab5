import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';
import type { Fault } from '../../shared/api.ts';
import { type ErrorCode, oneLine, VoleError } from '../../shared/errors.ts';

/** HTTP status of each error code; a code that only a command line has is our own fault here. */
const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  usage: 400,
  'workflow-invalid': 422,
  'not-found': 404,
  'server-unreachable': 502,
  'missing-tool': 501,
  'disk-full': 507,
  'lock-held': 409,
  'auth-refused': 401,
  'forge-refused': 422,
};

export function faultBody(code: ErrorCode, message: string): Fault {
  return { error: { code, message } };
}

export function faultReply(
  context: Context,
  code: ErrorCode,
  message: string,
  status: ContentfulStatusCode = STATUS[code] ?? 500,
): Response {
  return context.json(faultBody(code, message), status);
}

/** What a client is told of anything thrown: a `VoleError`'s line, and of other faults only that there was one. */
export function replyToError(context: Context, error: unknown): Response {
  if (error instanceof VoleError) return faultReply(context, error.code, oneLine(error));
  return faultReply(context, 'internal', "a fault in vole itself: see the server's log");
}

/** First complaint of a schema, with the field it is about. */
export function complaint(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return 'the request is not understood';
  const field = issue.path.join('.');
  return field ? `${field}: ${issue.message}` : issue.message;
}

export function parsed<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (!result.success) throw new VoleError('usage', complaint(result.error));
  return result.data;
}

/** A path's id; anything else is not there. */
export function idParam(text: string | undefined, what: string): number {
  if (text === undefined || !/^[1-9]\d{0,14}$/.test(text))
    throw new VoleError('not-found', `no ${what} ${text ?? ''}`);
  return Number(text);
}
