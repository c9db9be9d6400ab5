import { AGENT_LABEL } from '../../shared/agent/spec.ts';
import { type Capacity, fits, minus, NO_CAPACITY, plus } from '../../shared/capacity.ts';
import { counted } from '../../shared/counted.ts';
import { matchesRepository } from '../../shared/globs.ts';
import { formatBytes } from '../../shared/units.ts';
import type { WaitReason, Wanted } from '../store/store.ts';
import { couldTake, hasLabels } from './could-take.ts';
import type { Kept } from './kept-room.ts';
import type { Session } from './queue.ts';
import { processOf } from './session-id.ts';

type Offered = Pick<
  Session,
  'id' | 'machine' | 'labels' | 'repos' | 'cpus' | 'memoryBytes' | 'run' | 'slot' | 'silentSince'
>;
/** Longer than a slot takes from one request to the next. */
const SILENT_MS = 5_000;

type Reason = WaitReason['reasons'][number];

/** What is going on, beside the run. */
export interface Around {
  readonly sessions: readonly Offered[];
  /** Of the queue. */
  readonly kept: readonly Kept[];
  readonly nowMs: number;
}

/**
 * What the store says of why a run waits, together with what only the connected sessions can tell: that none
 * of them could ever take it. That stands first, since it does not pass by itself.
 */
export function explainWait(wait: WaitReason, run: Wanted, { sessions, kept, nowMs }: Around): WaitReason {
  if (wait.state !== 'queued' && wait.state !== 'received') return wait;
  const slots = sessions.filter((session) => session.slot >= 0);
  const obstacle = whyNobody(run, slots) ?? whyNobodyAsks(run, slots, nowMs);
  if (obstacle !== null) {
    // It has no place among those that can be leased now, whoever else waits.
    const others = wait.reasons.filter(({ code }) => code !== 'next');
    return { ...wait, reasons: [obstacle, ...others], place: null };
  }
  const when = whenTaken(run, wait.run, slots, kept);
  const reasons = wait.reasons.map((reason) =>
    reason.code === 'next' && when !== null ? { ...reason, text: `${reason.text}, ${when}` } : reason,
  );
  return { ...wait, reasons };
}

/** Null where a slot is idle that can take it as it is. */
function whenTaken(run: Wanted, id: number, slots: readonly Offered[], kept: readonly Kept[]): string | null {
  const own = kept.find((one) => one.run === id);
  const host = own && slots.find((session) => processOf(session.id) === own.process)?.machine;
  if (host !== undefined)
    return `when there is room in a runner on ${host}, which takes no later run until then`;
  const idle = slots.filter((session) => session.run === null && couldTake(session, run));
  if (idle.length === 0) return 'when a slot is free';
  const before = (session: Offered): number | undefined =>
    kept.find((one) => one.process === processOf(session.id) && one.run < id)?.run;
  const first = idle.map(before).find((other) => other !== undefined);
  if (first !== undefined && idle.every((session) => before(session) !== undefined))
    return `when run ${first} has begun, for which room is kept`;
  const free = idle.map((session) => minus(session, heldBeside(session, slots)));
  if (free.some((capacity) => fits(run, capacity))) return null;
  const cpus = Math.max(0, ...free.map((capacity) => capacity.cpus));
  if (!fits({ ...run, memoryBytes: 0 }, { cpus, memoryBytes: 0 }))
    return `when ${counted(run.cpus, 'cpu')} ${run.cpus === 1 ? 'is' : 'are'} free: beside an idle slot ${cpus} are now`;
  const memory = Math.max(0, ...free.map((capacity) => capacity.memoryBytes));
  return `when ${formatBytes(run.memoryBytes)} of memory are free: beside an idle slot ${formatBytes(memory)} are now`;
}

/** By what the slots of the same process run. */
function heldBeside({ id }: Offered, slots: readonly Offered[]): Capacity {
  const siblings = slots.filter((session) => processOf(session.id) === processOf(id));
  return siblings.reduce((held, { run }) => plus(held, run ?? NO_CAPACITY), NO_CAPACITY);
}

/** Each step looks at the sessions that the step before left: the first that leaves none is the reason. */
function whyNobody(run: Wanted, slots: readonly Offered[]): Reason | null {
  if (slots.length === 0) return { code: 'no-runner', text: 'no runner is connected' };
  const ofRepository = slots.filter((session) => matchesRepository(session.repos, run.repository));
  if (ofRepository.length === 0)
    return { code: 'no-runner', text: `no connected runner takes runs of ${run.repository}` };
  const labelled = ofRepository.filter((session) => hasLabels(session, run));
  if (labelled.length === 0) return { code: 'labels', text: noLabelsText(run) };
  const enoughCpus = labelled.filter((session) => fits({ ...run, memoryBytes: 0 }, session));
  if (enoughCpus.length === 0) {
    const most = Math.max(...labelled.map((session) => session.cpus));
    return { code: 'cpus', text: `it wants ${counted(run.cpus, 'cpu')}, and the largest runner has ${most}` };
  }
  if (enoughCpus.some((session) => couldTake(session, run))) return null;
  const most = formatBytes(Math.max(...enoughCpus.map((session) => session.memoryBytes)));
  const wanted = formatBytes(run.memoryBytes);
  return { code: 'memory', text: `it wants ${wanted} of memory, and the largest runner has ${most}` };
}

function noLabelsText({ labels }: Wanted): string {
  const text = `no connected runner has the labels ${labels.join(', ')}`;
  return labels.includes(AGENT_LABEL) ? `${text}: that of agents has a runner with --agent-url` : text;
}

/** Those that fit are there and free, and yet ask for nothing: a runner pauses while its disk is too full. */
function whyNobodyAsks(run: Wanted, slots: readonly Offered[], nowMs: number): Reason | null {
  const fit = slots.filter((session) => couldTake(session, run));
  const silent = fit.filter(({ silentSince }) => silentSince !== null && nowMs - silentSince > SILENT_MS);
  if (silent.length < fit.length) return null;
  const text = 'the runners that fit are connected and pause: less than their --min-free may be free';
  return { code: 'paused', text };
}
