import type { Context } from 'hono';
import type { z } from 'zod';
import { VoleError } from '../../shared/errors.ts';
import { formatBytes } from '../../shared/units.ts';
import { parsed } from './faults.ts';

/** Enough for a secret's 64 KiB and for the longest list of jobs. */
const BODY_LIMIT_BYTES = 128 * 1024;

export class BodyTooBig extends VoleError {
  constructor(limitBytes: number) {
    super('usage', `the body is over ${formatBytes(limitBytes)}`);
  }
}

/**
 * The body, read no further than the limit. The framework's own limiter copies the request into
 * another `Request`, which fails while the process's globals are left as they are.
 */
export async function boundedBody(context: Context, limitBytes = BODY_LIMIT_BYTES): Promise<Buffer> {
  if (Number(context.req.header('content-length') ?? 0) > limitBytes) throw new BodyTooBig(limitBytes);
  const { body } = context.req.raw;
  const parts: Uint8Array[] = [];
  let size = 0;
  if (body === null) return Buffer.alloc(0);
  for await (const part of body) {
    size += part.byteLength;
    if (size > limitBytes) throw new BodyTooBig(limitBytes);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The body as JSON of this shape; an empty one is taken for `{}`. */
export async function jsonBody<T extends z.ZodType>(context: Context, schema: T): Promise<z.output<T>> {
  const bytes = await boundedBody(context);
  let value: unknown;
  try {
    value = bytes.length === 0 ? {} : JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new VoleError('usage', 'the body is no JSON', { cause: error });
  }
  return parsed(schema, value);
}
