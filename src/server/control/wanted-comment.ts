import { safeMarkdown } from '../forges/safe-text.ts';
import type { CommandFacts } from '../store/control.ts';
import type { Run } from '../store/store.ts';

/** By which a comment is found again when its id is not known. Says nothing to people. */
export function markerOf(what: 'run' | 'comment', id: number | string): string {
  return `<!-- vole:${what}:${id} -->`;
}

const MOST_DETAIL = 500;

/** The comment that a command wants in its run's state. `report` is an agent's, and whoever told it what to say. */
export function commentOfRun(
  run: Pick<Run, 'id' | 'state' | 'detail' | 'cancelWhy'>,
  command: CommandFacts,
  publicUrl: string,
  hide: (text: string) => string,
  report: string | null = null,
): string {
  const state = run.state === 'running' && run.cancelWhy !== null ? 'being cancelled' : run.state;
  const lines = [
    markerOf('run', run.id),
    `${code(command.name)} for ${code(command.author)}: **${state}** ([run ${run.id}](${publicUrl}/runs/${run.id}))`,
  ];
  if (run.detail !== '') lines.push('', code(hide(run.detail)));
  // last, so that nothing that it leaves open swallows ours
  if (report !== null && report !== '') lines.push('', safeMarkdown(hide(report)));
  return lines.join('\n');
}

export function commentOfReply(subject: string, text: string, hide: (text: string) => string): string {
  return `${markerOf('comment', subject)}\n${code(hide(text))}`;
}

/** As code, so that what somebody else wrote mentions nobody and is no markup. */
function code(text: string): string {
  const line = text.replace(/\s+/g, ' ').replaceAll('`', "'").trim();
  return `\`${line.length > MOST_DETAIL ? `${line.slice(0, MOST_DETAIL - 1)}…` : line}\``;
}

/** Forges change line ends and trim. */
export function sameComment(a: string, b: string): boolean {
  const plain = (text: string) => text.replace(/\r\n?/g, '\n').trim();
  return plain(a) === plain(b);
}
