import { type AgentResult, CHANGE_ARTIFACT } from '../../shared/agent/result.ts';
import type { AgentSpec } from '../../shared/agent/spec.ts';
import type { WorkerTask } from '../../shared/worker-messages.ts';
import type { RunLog } from '../log/run-log.ts';
import type { PartFailure, PartsDone } from '../part-failure.ts';
import type { MainThread } from '../port.ts';
import { AgentIo, type AgentParts } from './agent-io.ts';
import { fixFlow } from './flows/fix.ts';
import type { Flow, FlowEnd, FlowFacts } from './flows/flow.ts';
import { followUpOf } from './flows/follow-up.ts';
import { implementFlow } from './flows/implement.ts';
import { planFlow } from './flows/plan.ts';
import { openCodeEngine } from './opencode/opencode-engine.ts';
import { Phases } from './phases.ts';
import { prepareTools } from './tools.ts';

/**
 * What a coding agent does in place of steps, in the checkout: the tools, the engine, the command's flow. When
 * it resolves nothing of the agent's runs any more.
 */
export async function runAgent(
  task: WorkerTask,
  spec: AgentSpec,
  main: MainThread,
  log: RunLog,
): Promise<PartsDone> {
  const phases = new Phases(log);
  const failed = (failure: PartFailure): PartsDone => {
    phases.fail({ result: 'failed', ...failure });
    return { failure, steps: phases.steps, agent: withoutTurns(spec) };
  };
  const { source } = task.spec;
  const { agent: options } = task;
  if (options === null) return failed({ reason: 'host', why: 'this runner does no agent runs' });
  if (source === null || task.paths.git === null) {
    return failed({ reason: 'bad-job', why: 'an agent run without a checkout' });
  }
  if (options.installScripts.length > 0) {
    const failure = await phases.during('install', () => prepareTools(task, main, log));
    if (failure || main.stopped) return failed(failure ?? stopFailure(main));
  }
  const made = await phases.during('start', () =>
    openCodeEngine({
      main,
      options,
      workspace: task.paths.src,
      processes: { marker: task.marker, tree: task.paths.tree, cgroup: task.cgroup },
      say: (line) => log.say(phases.steps.length, line),
      mask: (text) => log.mask(text),
    }),
  );
  if (!made.ok) return failed({ reason: 'host', why: made.failure.why });
  const { engine } = made;
  const { run, repository } = task.spec;
  const facts: FlowFacts = {
    run,
    repository,
    spec,
    options,
    engine: engine.name,
    home: engine.home,
    parent: source.sha,
  };
  if (followUpOf(facts).type === 'gone') {
    log.say(
      0,
      "the session of the earlier command is in another runner's store: a new one is told all of it",
    );
  }
  const parts = { task, source, savedCheckout: task.paths.git, facts, engine, main, log, phases };
  return await withFlow(parts, spec);
}

async function withFlow(parts: AgentParts, spec: AgentSpec): Promise<PartsDone> {
  const { main, phases, engine } = parts;
  const io = new AgentIo(parts);
  let end: FlowEnd;
  try {
    end = await follow(spec.command, parts.facts, io);
  } finally {
    await io.endLeftovers();
  }
  if (end.failure) phases.fail(end.failure);
  const { report, plan, rounds, change, keepsSession } = end;
  const { author } = io;
  const session = author ? { engine: engine.name, id: author.id, home: engine.home } : spec.session;
  const agent: AgentResult = {
    session: keepsSession ? session : null,
    report: main.stopped ? stoppedReport(io.publishing, parts.facts.run) : report,
    plan,
    rounds,
    change,
  };
  // Over time is told by its step, what else failed by its reason.
  const failure = end.failure?.result === 'failed' ? end.failure : null;
  return { failure, steps: phases.steps, agent };
}

function follow(command: AgentSpec['command'], facts: FlowFacts, io: AgentIo): Promise<FlowEnd> {
  switch (command) {
    case 'plan':
      return drive(planFlow, facts, io);
    case 'implement':
      return drive(implementFlow, facts, io);
    case 'fix':
      return drive(fixFlow, facts, io);
    default:
      return command satisfies never;
  }
}

async function drive<S>(flow: Flow<S>, facts: FlowFacts, io: AgentIo): Promise<FlowEnd> {
  let step = flow.begin(facts);
  for (;;) {
    const { effect, state } = step;
    if (effect.type === 'end') return effect.end;
    step = flow.next(facts, state, await io.carryOut(effect));
  }
}

/** Of a run that came to no turn: the session of an earlier command stays what it was. */
function withoutTurns(spec: AgentSpec): AgentResult {
  const session = spec.command === 'fix' ? null : spec.session;
  return { session, report: '', plan: null, rounds: 0, change: null };
}

/** Why it was stopped stands in the run's detail, beside which this is shown. */
function stoppedReport(publishing: boolean, run: number): string {
  if (!publishing) return '';
  return `The change was being pushed: whether it was, the branch shows. It is kept as the artifact \`${CHANGE_ARTIFACT}\` of run ${run}.`;
}

function stopFailure(main: MainThread): PartFailure {
  return { reason: 'agent-tools', why: main.stopped?.why ?? 'stopped' };
}
