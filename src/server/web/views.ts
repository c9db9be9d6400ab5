import type {
  ApiAgent,
  ApiKey,
  ApiMachines,
  ApiPipeline,
  ApiPipelineSummary,
  ApiRepository,
  ApiRepositorySet,
  ApiRun,
  ApiRunDetail,
  ApiWait,
} from '../../shared/api.ts';
import type { ApiTask } from '../../shared/api-forge.ts';
import { type Capacity, NO_CAPACITY, plus } from '../../shared/capacity.ts';
import type { RepositorySet } from '../admin.ts';
import type { Kept } from '../queue/kept-room.ts';
import type { Session } from '../queue/queue.ts';
import { processOf } from '../queue/session-id.ts';
import type { TaskRow } from '../store/control.ts';
import type { AccountKey, Pipeline, PipelineSummary, Repository, Run, WaitReason } from '../store/store.ts';
import { wordsOf } from './pipeline-words.ts';

/** From the store's shapes to the API's: field by field, so that nothing new slips out unseen. */
export function runView(run: Run, agent: ApiAgent | null = null): ApiRun {
  return {
    id: run.id,
    pipeline: run.pipeline,
    repository: run.repository,
    ref: run.ref,
    sha: run.sha,
    event: run.event,
    trust: run.trust,
    retryOf: run.retryOf,
    job: run.job,
    kind: run.kind,
    state: run.state,
    attempt: run.attempt,
    lostCount: run.lostCount,
    needs: [...run.needs],
    labels: [...run.labels],
    cpus: run.cpus,
    memoryBytes: run.memoryBytes,
    serial: run.serial,
    account: run.account,
    machine: run.machine,
    createdAtMs: run.createdAt,
    queuedAtMs: run.queuedAt,
    startedAtMs: run.startedAt,
    endedAtMs: run.endedAt,
    leaseUntilMs: run.leaseUntil,
    cancelWhy: run.cancelWhy,
    reason: run.reason,
    detail: run.detail,
    logBytes: run.logLength,
    agent,
  };
}

function waitView(wait: WaitReason): ApiWait {
  return { reasons: wait.reasons.map(({ code, text }) => ({ code, text })), place: wait.place };
}

export function runDetailView(
  run: Run,
  siblings: readonly Run[],
  wait: WaitReason | null,
  agent: ApiAgent | null = null,
): ApiRunDetail {
  const waits = run.state === 'queued' || run.state === 'received';
  return {
    ...runView(run, agent),
    steps: [...run.steps],
    wait: waits && wait ? waitView(wait) : null,
    siblings: siblings
      .filter((other) => other.id !== run.id)
      .sort((a, b) => a.id - b.id)
      .map(({ id, job, state }) => ({ id, job, state })),
  };
}

export function pipelineView(pipeline: Pipeline, runs: readonly Run[]): ApiPipeline {
  return {
    ...pipelineFacts(pipeline),
    runs: [...runs].sort((a, b) => a.id - b.id).map((run) => runView(run)),
  };
}

export function pipelineSummaryView(pipeline: PipelineSummary): ApiPipelineSummary {
  return { ...pipelineFacts(pipeline), states: { ...pipeline.states }, summary: wordsOf(pipeline) };
}

function pipelineFacts(pipeline: Omit<Pipeline, 'runs'>): Omit<ApiPipeline, 'runs'> {
  return {
    id: pipeline.id,
    repository: pipeline.repository,
    event: pipeline.event,
    ref: pipeline.ref,
    sha: pipeline.sha,
    trust: pipeline.trust,
    title: pipeline.title,
    fault: pipeline.fault,
    retryOf: pipeline.retryOf,
    createdAtMs: pipeline.createdAt,
  };
}

export function repositoryView(repository: Repository): ApiRepository {
  return {
    name: repository.name,
    cloneUrl: repository.cloneUrl,
    maxJobs: repository.maxJobs,
    forge: repository.forge,
    addedAtMs: repository.addedAt,
  };
}

export function repositorySetView({ repository, webhook }: RepositorySet): ApiRepositorySet {
  return { ...repositoryView(repository), webhook };
}

export function taskView(task: TaskRow): ApiTask {
  return {
    id: task.id,
    kind: task.kind,
    repository: task.repository,
    subject: task.subject,
    state: task.state,
    attempts: task.attempts,
    dueAtMs: task.dueAt,
    error: task.error,
    createdAtMs: task.createdAt,
    updatedAtMs: task.updatedAt,
  };
}

export function keyView(key: AccountKey): ApiKey {
  return {
    account: key.account,
    fingerprint: key.fingerprint,
    publicKey: key.publicKey,
    addedAtMs: key.addedAt,
  };
}

/**
 * By machine. A process says its number of slots in each of its sessions, so it counts once a process. The
 * probe of a process that starts (slot -1) is no slot and is not shown.
 */
export function machinesView(sessions: readonly Session[], kept: readonly Kept[]): ApiMachines {
  const byMachine = groupByMachine(sessions.filter(isSlot));
  const machines = [...byMachine].map(([machine, own]) => {
    const slotsOfProcess = new Map(own.map((session) => [session.process, session.slots]));
    const sorted = [...own].sort((a, b) => a.process.localeCompare(b.process) || a.slot - b.slot);
    const held = own.reduce((sum, { run }) => plus(sum, run ?? NO_CAPACITY), NO_CAPACITY);
    const processes = new Map(own.map((session) => [processOf(session.id), session]));
    const total = [...processes.values()].reduce<Capacity>(plus, NO_CAPACITY);
    return {
      machine,
      versions: [...new Set(own.map((session) => session.version))].sort(),
      busy: own.filter((session) => session.run !== null).length,
      slots: [...slotsOfProcess.values()].reduce((sum, slots) => sum + slots, 0),
      cpus: total.cpus,
      memoryBytes: total.memoryBytes,
      heldCpus: held.cpus,
      heldMemoryBytes: held.memoryBytes,
      keepsRoomFor: kept.filter(({ process }) => processes.has(process)).map(({ run }) => run),
      sessions: sorted.map((session) => ({
        id: session.id,
        account: session.account,
        address: session.address,
        process: session.process,
        slot: session.slot,
        version: session.version,
        labels: [...session.labels],
        repos: [...session.repos],
        engine: session.engine,
        sinceMs: session.since,
        run: session.run && {
          id: session.run.id,
          attempt: session.run.attempt,
          repository: session.run.repository,
          job: session.run.job,
          sinceMs: session.run.since,
        },
      })),
    };
  });
  return { machines: machines.sort((a, b) => a.machine.localeCompare(b.machine)) };
}

function isSlot(session: Session): boolean {
  return session.slot >= 0;
}

function groupByMachine(sessions: readonly Session[]): Map<string, Session[]> {
  const groups = new Map<string, Session[]>();
  for (const session of sessions) {
    const group = groups.get(session.machine);
    if (group) group.push(session);
    else groups.set(session.machine, [session]);
  }
  return groups;
}
