import type { FlowFacts } from '../flows/flow.ts';
import { cut, fenced } from './fence.ts';
import { setting, targetTexts } from './target.ts';

const MOST_PLAN = 40 * 1024;
const MOST_COMMENTS = 16 * 1024;
const MOST_FINDINGS = 24 * 1024;

const READ_ONLY = 'You can read the repository and change nothing in it.';

const PLAN_SHAPE = [
  'Answer with the plan alone, in Markdown, without a preface: what is wrong or wanted, what to change in which',
  'files, how it is to be tested, and what is left out on purpose. Be concrete enough that somebody else can',
  'carry it out without asking. It is shown as a comment, so keep it short.',
].join('\n');

export function explorePrompt(facts: FlowFacts): string {
  return [
    setting(facts),
    `${READ_ONLY} Find out what somebody has to know who will plan this: the files and functions that are concerned, how they work together, how they are tested, the rules that the repository sets for itself. Answer with your findings alone, in Markdown, with paths.`,
    targetTexts(facts),
  ].join('\n\n');
}

/** `findings`: what a first look gave; null where there was none. */
export function draftPrompt(facts: FlowFacts, findings: string | null): string {
  const { plan } = facts.spec;
  return [
    setting(facts),
    `${READ_ONLY} Write a plan for it. Read the code that is concerned first.`,
    PLAN_SHAPE,
    targetTexts(facts),
    ...(plan === null ? [] : [fenced('the plan as it was accepted earlier', cut(plan, MOST_PLAN))]),
    ...(findings === null ? [] : [fenced('findings of a first look', cut(findings, MOST_FINDINGS))]),
  ].join('\n\n');
}

/** To a session that has made a plan for the target before. */
export function followUpPlanPrompt(facts: FlowFacts): string {
  return [
    setting(facts),
    `You have planned this before. Plan it anew where the command or the discussion asks for it; the repository may have changed too. ${READ_ONLY}`,
    PLAN_SHAPE,
    targetTexts(facts),
  ].join('\n\n');
}

export function reviewPlanPrompt(facts: FlowFacts, draft: string): string {
  return [
    setting(facts),
    `${READ_ONLY} Somebody else has written the plan below. Judge it against the repository: does it do what is wanted, is what it says of the code true, does it break anything, is it tested, is it complete enough to be carried out?`,
    VERDICT,
    targetTexts(facts),
    fenced('the plan', cut(draft, MOST_PLAN)),
  ].join('\n\n');
}

export function revisePlanPrompt(comments: string): string {
  return [
    'A reviewer wants changes to your plan. Check each point against the code; take what is right, and say in the plan why where one is not.',
    fenced("the reviewer's comments", cut(comments, MOST_COMMENTS)),
    PLAN_SHAPE,
  ].join('\n\n');
}

/** For both kinds of review. */
export const VERDICT = [
  'Give your verdict: `accept` where nothing has to change, `revise` where something has to. In `comments` name',
  'each point that has to change, with the place and the reason. Matters of taste are no reason to revise.',
].join('\n');

/** After an answer that was none. */
export const VERDICT_AGAIN =
  'That was no verdict. Answer with an object of `verdict`, which is `accept` or `revise`, and `comments`, a text.';
