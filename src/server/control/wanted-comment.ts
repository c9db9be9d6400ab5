import { isFinal } from '../../shared/outcome.ts';
import { safeMarkdown } from '../forges/safe-text.ts';
import type { CommandFacts } from '../store/control.ts';
import type { Run } from '../store/store.ts';

/** By which a comment is found again when its id is not known. Says nothing to people. */
export function markerOf(what: 'run' | 'comment', id: number | string): string {
  return `<!-- vole:${what}:${id} -->`;
}

const MOST_DETAIL = 500;

export interface AgentPart {
  /** Markdown of an agent's, and of whoever told it what to say; may be empty. */
  readonly report: string;
  /** What was pushed and is not told of in the report. */
  readonly pushed: { readonly branch: string; readonly pull: { readonly number: number } | null } | null;
}

/** The comment that a command wants in its run's state. */
export function commentOfRun(
  run: Pick<Run, 'id' | 'state' | 'detail' | 'cancelWhy'>,
  command: CommandFacts,
  publicUrl: string,
  hide: (text: string) => string,
  { report, pushed }: AgentPart = { report: '', pushed: null },
): string {
  const state = run.state === 'running' && run.cancelWhy !== null ? 'being cancelled' : run.state;
  const lines = [
    markerOf('run', run.id),
    `${code(command.name)} for ${code(command.author)}: **${state}** ([run ${run.id}](${publicUrl}/runs/${run.id}))`,
  ];
  if (run.detail !== '') lines.push('', code(hide(run.detail)));
  if (pushed && isFinal(run.state))
    lines.push('', `Its change was pushed to ${code(pushed.branch)}${pullOf(pushed)}.`);
  // last, so that nothing that it leaves open swallows ours
  if (report !== '') lines.push('', safeMarkdown(hide(report)));
  return lines.join('\n');
}

function pullOf({ pull }: NonNullable<AgentPart['pushed']>): string {
  return pull === null ? '' : `, pull request #${pull.number}`;
}

export function commentOfReply(subject: string, text: string, hide: (text: string) => string): string {
  return `${markerOf('comment', subject)}\n${code(hide(text))}`;
}

/** As code, so that what somebody else wrote mentions nobody and is no markup. */
function code(text: string): string {
  const line = text.replace(/\s+/g, ' ').replaceAll('`', "'").replaceAll('<!--', '<! --').trim();
  return `\`${line.length > MOST_DETAIL ? `${line.slice(0, MOST_DETAIL - 1)}…` : line}\``;
}

/** Whether a comment is the one of this marker: it stands at its begin, where no text of others comes. */
export function isMarked(body: string, marker: string): boolean {
  return body.trimStart().startsWith(marker);
}

/** Forges change line ends and trim. */
export function sameComment(a: string, b: string): boolean {
  const plain = (text: string) => text.replace(/\r\n?/g, '\n').trim();
  return plain(a) === plain(b);
}
