import type { FlowFacts, Snapshot } from '../flows/flow.ts';
import { cut, fenced } from './fence.ts';
import { VERDICT } from './plan.ts';
import { setting, targetTexts } from './target.ts';

const MOST_PLAN = 48 * 1024;
const MOST_COMMENTS = 16 * 1024;
const MOST_SAID = 8 * 1024;

const MAY_WRITE = [
  'You may read and write in the current directory and run commands there; nothing outside it is yours. Do not',
  'commit, push, or make branches: once you are done, everything that differs in the work tree and is not',
  'ignored becomes one commit. Leave no files behind that do not belong in it.',
].join('\n');

const SUMMARY =
  'When you are done, answer with a summary in Markdown of a few sentences: what you changed and why, how you tested it, and what is still open.';

export function buildPrompt(facts: FlowFacts, plan: string): string {
  return [
    setting(facts),
    'Carry out the plan below, tests included, and run the tests that are concerned.',
    MAY_WRITE,
    SUMMARY,
    targetTexts(facts),
    fenced('the plan', cut(plan, MOST_PLAN)),
  ].join('\n\n');
}

/** To a session that has worked on the target before; its earlier changes are in the checkout or not. */
export function followUpBuildPrompt(facts: FlowFacts, plan: string): string {
  return [
    setting(facts),
    'You have worked on this before. The current directory is a new checkout: look at what it has before you rely on what you remember. Do what the command asks, and what of the plan is not done yet.',
    MAY_WRITE,
    SUMMARY,
    targetTexts(facts),
    fenced('the plan', cut(plan, MOST_PLAN)),
  ].join('\n\n');
}

export function fixPrompt(facts: FlowFacts): string {
  return [
    setting(facts),
    'Do what the command asks for on this pull request, no more; where it has no message, correct what the discussion says is wrong. Run the tests that are concerned.',
    MAY_WRITE,
    SUMMARY,
    targetTexts(facts),
  ].join('\n\n');
}

export function reviewChangePrompt(facts: FlowFacts, plan: string, said: string, snapshot: Snapshot): string {
  return [
    setting(facts),
    'You can read the repository and change nothing in it. Somebody else has made the change below, which is in the work tree already. Judge it: does it do what the plan says, is it correct, is it tested, does it break anything, is there anything in it that does not belong there?',
    VERDICT,
    targetTexts(facts),
    fenced('the plan', cut(plan, MOST_PLAN)),
    fenced('what its author says', cut(said, MOST_SAID) || '(nothing)'),
    fenced('the change', snapshot.diff),
  ].join('\n\n');
}

export function reviseChangePrompt(comments: string): string {
  return [
    'A reviewer wants changes. Check each point; correct what is right, and say in your summary why where one is not.',
    fenced("the reviewer's comments", cut(comments, MOST_COMMENTS)),
    MAY_WRITE,
    SUMMARY,
  ].join('\n\n');
}
