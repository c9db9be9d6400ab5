import { inertText } from '../../../shared/agent/inert-text.ts';
import { CHANGE_ARTIFACT, MOST_REPORT } from '../../../shared/agent/result.ts';
import { counted } from '../../../shared/counted.ts';
import { cut } from '../prompts/fence.ts';
import type { FlowEvent, Snapshot } from './flow.ts';

/** Of a plan as it is kept: with its heading and a review's comments it fits into a report. */
export const MOST_PLAN = 38 * 1024;
const MOST_COMMENTS = 6 * 1024;
const MOST_SUMMARY = 16 * 1024;
const MOST_FILES = 50;
const MOST_NAME = 200;

type Published = Extract<FlowEvent, { type: 'published' }>['published'];

/** A text of the agent's as it may stand in a comment: it cannot pass for vole's own mark in one. */
export function quotable(text: string, most: number): string {
  return cut(text.replace(/<!--(\s*)vole:/gi, '<!-- $1vole :').trim(), most);
}

export function planReport(plan: string, rounds: number, open: string | null): string {
  const held = counted(rounds, 'round');
  if (open === null) return bounded([`**Plan**, accepted after ${held} of review.`, plan]);
  return bounded([`**Plan**, **not accepted** after ${held} of review.`, plan, openPoints(open)]);
}

/** `open`: what the last review still wanted; null where it accepted, undefined where none was held. */
export interface ChangeFacts {
  readonly said: string;
  readonly snapshot: Snapshot;
  readonly rounds: number;
  readonly open: string | null | undefined;
}

/**
 * The body of a pull request, which says what a reader of the change has to know. The texts of agents come last,
 * so that nothing that they leave open swallows what vole says.
 */
export function pullBody(change: ChangeFacts, closing: string, run: number): string {
  const ours = [verdict(change), closing, `Made by vole, run ${run}.`].join(' ');
  const open = change.open === null || change.open === undefined ? [] : [openPoints(change.open)];
  const theirs = [...open, summary(change)];
  return bounded([ours, ...theirs.map(inertText)]);
}

export function changeReport(change: ChangeFacts, published: Published, run: number): string {
  return bounded([
    whereItIs(published, run),
    verdict(change),
    fileList(change.snapshot),
    ...(change.snapshot.notes.length > 0 ? [list('Left out', change.snapshot.notes)] : []),
    ...(change.open === null || change.open === undefined ? [] : [openPoints(change.open)]),
    summary(change),
  ]);
}

/**
 * Of a run that failed before there was something to show. Why stands in the run's detail, beside which a
 * report is shown. `said`: what the agent said last, if anything.
 */
export function failureReport(said: string | null): string {
  const text = quotable(said ?? '', MOST_SUMMARY);
  return text === '' ? '' : `What the agent said last:\n\n${text}`;
}

function whereItIs(published: Published, run: number): string {
  if (published.state === 'failed') {
    return `The change was made and **not pushed**: ${published.why}. It is kept as the artifact \`${CHANGE_ARTIFACT}\` of run ${run}.`;
  }
  const { commit, branch, pull, rebased } = published;
  const where = pull ? `, pull request [#${pull.number}](${pull.url})` : '';
  const onto = rebased ? ', rebased onto what was pushed meanwhile' : '';
  return `Pushed commit ${commit.slice(0, 12)} to \`${branch}\`${where}${onto}.`;
}

function verdict({ rounds, open }: ChangeFacts): string {
  if (open === undefined) return 'It was not reviewed.';
  const held = counted(rounds, 'round');
  return open === null ? `Accepted after ${held} of review.` : `**Not accepted** after ${held} of review.`;
}

function openPoints(comments: string): string {
  return `**Open points of the last review**\n\n${quotable(comments, MOST_COMMENTS) || '(it named none)'}`;
}

function summary({ said }: ChangeFacts): string {
  return quotable(said, MOST_SUMMARY) || '(The agent gave no summary.)';
}

function fileList({ files }: Snapshot): string {
  return list(counted(files.length, 'file'), files);
}

function list(title: string, lines: readonly string[]): string {
  const shown = lines.slice(0, MOST_FILES).map((line) => `    ${quotable(line, MOST_NAME)}`);
  const more = lines.length - shown.length;
  return [`${title}:`, '', ...shown, ...(more > 0 ? [`    and ${more} more`] : [])].join('\n');
}

function bounded(parts: readonly string[]): string {
  return cut(parts.join('\n\n'), MOST_REPORT);
}
