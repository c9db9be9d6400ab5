import { setTimeout as delay } from 'node:timers/promises';
import { serviceFacts } from '../../shared/engine/service-facts.ts';
import { listeningPorts, listeningPortsIn } from '../../shared/platform/listening-ports.ts';
import type { Service } from './service.ts';

/** `not`: what is still missing, for people; `never`: and it will not come; `cut`: there was no time to tell. */
export type Readiness = 'ready' | { readonly not: string; readonly never?: true; readonly cut?: true };

/** Between two looks; what costs a program in the container is done less often. */
const LOOK_MS = 50;
const ASK_MS = 300;

/** For `/bin/sh` inside: the script comes by standard input, as everything of a workflow does. */
const CHECK = 'eval "$(cat)" </dev/null';
const NO_SHELL = /\/bin\/sh\S*:? .*(no such file|not found)/is;

/**
 * Waits until the service is ready. What the workflow says decides: its health check, its ports, or both.
 * Else the health check of its image, else any port that the image exposes; else it is ready once it runs.
 * Null when it is, or when `signal` has aborted; else what was missing when the time was over.
 */
export async function whenReady(
  service: Service,
  deadline: number,
  signal: AbortSignal,
): Promise<string | null> {
  for (const wait of waitsOf(service)) {
    for (let before: string | null = null; ; ) {
      if (signal.aborted) return null;
      const found = await wait.look(Math.max(1, deadline - performance.now()), signal);
      if (found === 'ready') break;
      if (signal.aborted) return null;
      if (!(await service.runs())) return `it has ended: ${service.ended}`;
      const missing: string = found.cut && before !== null ? before : found.not;
      if (found.never || performance.now() >= deadline) return missing;
      before = missing;
      await delay(Math.min(wait.everyMs, Math.max(1, deadline - performance.now())));
    }
  }
  return (await service.runs()) ? null : `it has ended: ${service.ended}`;
}

interface Wait {
  readonly everyMs: number;
  look(boundMs: number, signal: AbortSignal): Promise<Readiness>;
}

function waitsOf(service: Service): Wait[] {
  const { healthCheck, readyPorts } = service.spec;
  const facts = service.facts;
  const waits: Wait[] = [];
  if (readyPorts !== null && readyPorts.length > 0) waits.push(portsWait(service, readyPorts, 'all'));
  if (healthCheck !== null) waits.push(checkWait(service, healthCheck));
  if (healthCheck !== null || readyPorts !== null || !facts) return waits;
  if (facts.health !== null) return [healthWait(service)];
  return facts.exposed.length > 0 ? [portsWait(service, facts.exposed, 'any')] : [];
}

function portsWait(service: Service, ports: readonly number[], which: 'all' | 'any'): Wait {
  const look = async (boundMs: number): Promise<Readiness> => {
    const open = await portsOf(service, boundMs);
    if (!open)
      return { not: 'whether its ports are open cannot be seen: its image has no `cat`', never: true };
    const closed = ports.filter((port) => !open.has(port));
    if (which === 'any' ? closed.length < ports.length : closed.length === 0) return 'ready';
    const list = closed.join(', ');
    return {
      not: `nothing listens on ${closed.length === 1 ? `its port ${list}` : `any of its ports ${list}`}`,
    };
  };
  return { everyMs: service.pid === null ? ASK_MS : LOOK_MS, look };
}

/** As this host shows it; else it is looked at from inside. Null where neither can be done. */
async function portsOf(service: Service, timeoutMs: number): Promise<Set<number> | null> {
  const seen = service.pid === null ? null : listeningPorts(service.pid);
  if (seen) return seen;
  const { engine, container } = service;
  const args = ['exec', container, 'cat', '/proc/net/tcp', '/proc/net/tcp6'];
  const { stdout, exitCode } = await engine.callRaw(args, { timeoutMs });
  if (exitCode === 126 || exitCode === 127) return null;
  // Without IPv6 the second is missing, and the first was printed.
  return listeningPortsIn(stdout);
}

function checkWait({ engine, container }: Service, script: string): Wait {
  const args = ['exec', '--interactive', container, '/bin/sh', '-c', CHECK];
  return {
    everyMs: ASK_MS,
    look: async (timeoutMs, signal) => {
      const done = await engine.callRaw(args, { timeoutMs, signal, input: script });
      // The client ends with 0 when it is told to end.
      if (done.timedOut || done.aborted) return { not: 'its health check did not end', cut: true };
      if (done.ok) return 'ready';
      const said = `${done.stdout}\n${done.stderr}`.trim();
      if (done.exitCode !== null && done.exitCode >= 126 && NO_SHELL.test(said)) {
        return { not: 'its image has no /bin/sh to run the health check', never: true };
      }
      return { not: `its health check ended with exit code ${done.exitCode ?? '?'}${lastOf(said)}` };
    },
  };
}

function healthWait({ engine, container }: Service): Wait {
  return {
    everyMs: ASK_MS,
    look: async (timeoutMs) => {
      const facts = await serviceFacts(engine, container, { timeoutMs });
      if (!facts.ok) return { not: facts.failure.why };
      if (facts.value?.health === 'healthy') return 'ready';
      const { health = 'unknown', healthSaid = '' } = facts.value ?? {};
      return { not: `the health check of its image says ${health}${lastOf(healthSaid)}` };
    },
  };
}

function lastOf(said: string): string {
  const line = said.split('\n').at(-1)?.trim().slice(0, 200);
  return line ? `: ${line}` : '';
}
