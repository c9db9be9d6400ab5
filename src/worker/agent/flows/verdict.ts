import { z } from 'zod';
import { agentFailed } from './failures.ts';
import type { Effect, FlowEvent, FlowFailure } from './flow.ts';

const verdictSchema = z.object({ verdict: z.enum(['accept', 'revise']), comments: z.string() });
export type Verdict = z.infer<typeof verdictSchema>;

/** What a review is asked for, as the engine hands it to the model. */
const VERDICT_SCHEMA: Readonly<Record<string, unknown>> = {
  type: 'object',
  properties: {
    verdict: {
      type: 'string',
      enum: ['accept', 'revise'],
      description: 'accept where nothing has to change, else revise',
    },
    comments: { type: 'string', description: 'what has to change, and why; may be empty with accept' },
  },
  required: ['verdict', 'comments'],
  additionalProperties: false,
};

/** Null where it is no verdict, which never counts as an acceptance. */
export function verdictOf(event: FlowEvent): Verdict | null {
  if (event.type !== 'said') return null;
  const parsed = verdictSchema.safeParse(event.structured);
  return parsed.success ? parsed.data : null;
}

/** A review in a session of its own; `again`: the same one is asked once more for its verdict. */
export function reviewTurn(round: number, again: boolean, prompt: string): Extract<Effect, { type: 'turn' }> {
  const request = { role: 'review', prompt, schema: VERDICT_SCHEMA } as const;
  return { type: 'turn', phase: `review ${round}`, session: 'reviewer', fresh: !again, request };
}

export function noVerdict(round: number): FlowFailure {
  return agentFailed(`review ${round}: the reviewer gave no verdict, asked twice`);
}

/** Whether a review's turn ended with an answer that may be asked for once more. */
export function isAnswer(event: FlowEvent): boolean {
  return event.type === 'said' || (event.type === 'turn-failed' && event.reason === 'no-answer');
}
