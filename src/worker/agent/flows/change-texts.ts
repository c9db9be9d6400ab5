import { inertText } from '../../../shared/agent/inert-text.ts';
import type { PublishRequest } from '../../../shared/agent/result.ts';
import { plain } from '../../../shared/plain-text.ts';
import { cut } from '../prompts/fence.ts';
import type { FlowFacts } from './flow.ts';
import { type ChangeFacts, pullBody } from './report.ts';

/** Of a subject line, with the number at its end. */
const MOST_SUBJECT = 100;
const MOST_BODY = 4 * 1024;

/** Title line, what the agent says of it, and the run by which it can be traced. Only that is a trailer. */
export function commitMessage(facts: FlowFacts, said: string): string {
  const body = cut(inertText(plain(said).trim()), MOST_BODY);
  return [subject(facts), ...(body === '' ? [] : [body]), `Vole-Run: ${facts.run}`].join('\n\n').concat('\n');
}

export function publishRequest(facts: FlowFacts, change: ChangeFacts, commit: string): PublishRequest {
  const { target } = facts.spec;
  // A merge closes the issue that the change is for; of a pull request there is nothing to close.
  const closing = target.pull ? `For #${target.number}.` : `Closes #${target.number}.`;
  return {
    commit,
    parent: facts.parent,
    title: subject(facts),
    body: pullBody(change, closing, facts.run),
  };
}

/** One line of the target's title, which may be anything. */
function subject({ spec: { target, command } }: FlowFacts): string {
  const number = ` (#${target.number})`;
  const title = inertText(plain(target.title).replace(/\s+/g, ' ').trim());
  const room = MOST_SUBJECT - number.length;
  const short = title.length > room ? `${title.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : title;
  return (short || command) + number;
}
