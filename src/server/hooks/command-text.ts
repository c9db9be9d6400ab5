import { AGENT_COMMANDS, type AgentCommand } from '../../shared/agent/spec.ts';

export type Asked =
  | { readonly type: 'command'; readonly name: AgentCommand; readonly message: string }
  | { readonly type: 'abort' };

/** A step's environment holds it: a single variable may have 128 KiB on Linux. */
const MAX_MESSAGE_BYTES = 64 * 1024;

/**
 * What a comment asks for: `/agent plan` and so on at the start of its first line that is not blank, the
 * message after it on that line and below. Null where it asks for nothing. Quotes of other comments start
 * with `>` and are none.
 */
export function askedBy(body: string, word: string): Asked | null {
  // no variable can hold a NUL byte
  const text = body.replaceAll('\0', '').trimStart();
  const line = /^\/(\S+)[^\S\r\n]+([a-z]+)(?=\s|$)/i.exec(text);
  if (line?.[1] !== word) return null;
  const name = (line[2] ?? '').toLowerCase();
  if (name === 'abort') return { type: 'abort' };
  const command = AGENT_COMMANDS.find((known) => known === name);
  if (command === undefined) return null;
  return { type: 'command', name: command, message: messageOf(text.slice(line[0].length)) };
}

function messageOf(rest: string): string {
  const plain = rest.replaceAll('\r\n', '\n').trim();
  const bytes = Buffer.from(plain);
  if (bytes.length <= MAX_MESSAGE_BYTES) return plain;
  // cut within a character leaves U+FFFD at the end
  return new TextDecoder().decode(bytes.subarray(0, MAX_MESSAGE_BYTES)).replace(/\uFFFD$/, '');
}
