import { agentFailed } from './failures.ts';
import type { Effect, FlowFacts } from './flow.ts';

/** The end of a run whose target has a session of an engine that is not there. */
export function foreignSession(engine: string, { spec }: FlowFacts): Effect {
  const failure = agentFailed(
    `the session of the earlier \`${spec.command}\` was made by ${engine}, which is not here`,
  );
  const report = [
    `It is kept, and cannot be gone on with here.`,
    `To begin a new one in its place, give the command afresh: begin its message with \`--fresh\`, as in \`${spec.command} --fresh\`.`,
  ].join('\n\n');
  return {
    type: 'end',
    end: { failure, report, plan: null, rounds: 0, change: null, keepsSession: true },
  };
}
