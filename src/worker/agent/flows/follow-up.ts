import type { FlowFacts } from './flow.ts';

/** First word of a command's message that begins a new conversation where an earlier one is kept. */
const FRESH = /^\s*--fresh(?:\s+|$)/;

/**
 * - `new`: there is none to go on with, or the message asks for a new one
 * - `resume`: this engine's store may have it; `gone`: it was another store's, so its context is told anew
 * - `foreign`: another engine made it; it is kept, and never resumed
 */
export type FollowUp =
  | { readonly type: 'new' }
  | { readonly type: 'resume'; readonly id: string }
  | { readonly type: 'gone' }
  | { readonly type: 'foreign'; readonly engine: string };

export function followUpOf({ spec, engine, home }: FlowFacts): FollowUp {
  const { session, message } = spec;
  if (session === null || FRESH.test(message)) return { type: 'new' };
  if (session.engine !== engine) return { type: 'foreign', engine: session.engine };
  return session.home === home ? { type: 'resume', id: session.id } : { type: 'gone' };
}

/** What the command says beside how it wants to be carried out. */
export function messageOf({ spec }: FlowFacts): string {
  return spec.message.replace(FRESH, '').trim();
}
