import { oneLine } from '../../shared/errors.ts';
import { matchesOn, matchesPaths, pathsOf, type WorkflowEvent } from '../../shared/workflow/events.ts';
import { expandWorkflow } from '../../shared/workflow/expand.ts';
import { parseWorkflow, WORKFLOW_FILE } from '../../shared/workflow/parse.ts';
import { faultLines, type RunFacts } from '../../shared/workflow/types.ts';
import type { Mirror } from '../pipelines/mirror.ts';
import { readWorkflowFile, trustOf } from '../pipelines/workflow-file.ts';
import type { EventResult } from '../store/event-store.ts';
import type { NewPipeline, Repository } from '../store/store.ts';
import type { ChangeEvent } from './event.ts';
import { asksToSkip } from './skip.ts';

/** What a push or pull request causes; `gone` where the repository has its commit no more. */
export type ChangePlan = EventResult | 'gone';

/** The mirror has been fetched since the event was received. */
export async function planChange(
  mirror: Mirror,
  repository: Pick<Repository, 'name' | 'cloneUrl'>,
  event: ChangeEvent,
): Promise<ChangePlan> {
  const ref = refOf(event);
  // null also where the remote has no refs of pull requests
  const head = event.kind === 'push' ? null : await mirror.fetchHead(ref);
  const commit = await mirror.commit(event.kind === 'push' ? event.after : event.sha);
  if (commit === null) return 'gone';
  const { sha, message } = commit;
  if (asksToSkip(message)) return { result: 'nothing: the commit asks to be skipped' };
  const file = await readWorkflowFile(mirror, sha);
  if (file.type === 'absent') return { result: `nothing: there is no ${WORKFLOW_FILE}` };
  const facts: RunFacts = {
    repository: repository.name,
    cloneUrl: repository.cloneUrl,
    ref,
    sha,
    event: event.kind,
    trust: event.kind === 'push' ? 'trusted' : event.fork ? 'untrusted' : await trustOf(mirror, sha),
  };
  const title = message.split('\n', 1)[0]?.slice(0, 200) ?? '';
  if (file.type === 'faulty') return pipeline(facts, title, { fault: file.fault });
  const parsed = parseWorkflow(file.text, WORKFLOW_FILE);
  if (!parsed.ok) return pipeline(facts, title, { fault: faultLines(parsed).join('\n') });
  const { workflow } = parsed;
  if (workflow.jobs.length === 0) return { result: 'nothing: the workflow has no jobs' };
  const asked: WorkflowEvent =
    event.kind === 'push' ? { name: 'push', ref } : { name: 'pull_request', base: event.base };
  if (!matchesOn(workflow.on, asked)) return { result: 'nothing: `on` does not name the event' };
  const paths = pathsOf(workflow.on, asked);
  if (paths !== null) {
    const files = await changedFiles(mirror, event, sha);
    if (files !== null && !matchesPaths(paths, files))
      return { result: 'nothing: `paths` names no changed file' };
  }
  return pipeline(facts, title, {
    runs: expandWorkflow(workflow, facts),
    // what has been pushed since will end these instead
    supersedes: event.kind === 'push' ? commit.refs.includes(ref) : head === null || head === sha,
  });
}

/** The pipeline of an event whose repository could not be read however often it was tried. */
export function unreadable(
  repository: Pick<Repository, 'name'>,
  event: ChangeEvent,
  error: unknown,
): EventResult {
  const sha = event.kind === 'push' ? event.after : event.sha;
  const facts = { repository: repository.name, ref: refOf(event), sha, event: event.kind } as const;
  return pipeline({ ...facts, trust: 'untrusted' }, '', { fault: oneLine(error) });
}

function refOf(event: ChangeEvent): string {
  return event.kind === 'push' ? event.ref : `refs/pull/${event.number}/head`;
}

function pipeline(
  facts: Pick<RunFacts, 'repository' | 'ref' | 'sha' | 'event' | 'trust'>,
  title: string,
  made: Partial<Pick<NewPipeline, 'fault' | 'runs' | 'supersedes'>>,
): EventResult {
  const { repository, ref, sha, event, trust } = facts;
  const { fault = null, runs = [], supersedes = false } = made;
  return {
    result: fault === null ? 'a pipeline' : 'a failed pipeline',
    pipeline: { repository, event, ref, sha, trust, title, fault, supersedes, runs },
  };
}

/** Null where it is not known: then the event counts as matching. */
async function changedFiles(
  mirror: Mirror,
  event: ChangeEvent,
  sha: string,
): Promise<readonly string[] | null> {
  const from =
    event.kind === 'push' ? await startOfPush(mirror, event, sha) : await startOfPull(mirror, event, sha);
  return from === null ? null : mirror.changedFiles(from, sha);
}

async function startOfPush(
  mirror: Mirror,
  event: { ref: string; before: string | null },
  sha: string,
): Promise<string | null> {
  if (event.before === null) return mirror.forkPoint(event.ref, sha);
  return (await mirror.commit(event.before))?.sha ?? null;
}

async function startOfPull(mirror: Mirror, event: { base: string }, sha: string): Promise<string | null> {
  const base = await mirror.head(`refs/heads/${event.base}`);
  return base === null ? null : mirror.mergeBase(base, sha);
}
