import { z } from 'zod';
import { type Hello, helloSchema } from '../../shared/protocol/messages.ts';
import { agreeOnVersion } from '../../shared/protocol/versions.ts';

/** All that a `hello` of any version has in common. */
const anyHelloSchema = z.object({ type: z.literal('hello'), protocol: z.number().int().nonnegative() });

/**
 * A `hello` that is none of ours because it is of a version too far away: it is answered with
 * `refused`, which is final, and not as a broken message, which its runner would try again for ever.
 */
export function foreignHello(value: unknown, server: number): Hello | null {
  const parsed = anyHelloSchema.safeParse(value);
  if (!parsed.success || agreeOnVersion(server, parsed.data.protocol).ok) return null;
  const empty = { type: 'hello', protocol: 1, version: '', machine: '?', process: '?', slot: 0, slots: 1 };
  return { ...helloSchema.parse(empty), protocol: parsed.data.protocol };
}
