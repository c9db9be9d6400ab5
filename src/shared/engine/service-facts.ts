import type { Engine, EngineCallOptions } from './engine.ts';
import type { EngineReply } from './types.ts';

/** What an engine knows of a service's container. */
export interface ServiceFacts {
  readonly id: string;
  readonly running: boolean;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** Its main process as this host's pid namespace has it; 0 where it does not run. */
  readonly pid: number;
  /** Its environment, `NAME=VALUE` each, with the image's. */
  readonly env: readonly string[];
  /** TCP ports that its image says it listens on. */
  readonly exposed: readonly number[];
  /** By the health check of its image: `starting`, `healthy` or `unhealthy`; null where it has none. */
  readonly health: string | null;
  /** What its last health check printed. */
  readonly healthSaid: string;
}

interface Inspected {
  readonly Id?: string;
  readonly State?: {
    readonly Running?: boolean;
    readonly ExitCode?: number;
    readonly OOMKilled?: boolean;
    readonly Pid?: number;
    readonly Health?: {
      readonly Status?: string;
      readonly Log?: readonly { readonly Output?: string }[] | null;
    } | null;
  };
  readonly Config?: {
    readonly Env?: readonly string[] | null;
    readonly ExposedPorts?: Readonly<Record<string, unknown>> | null;
    readonly Healthcheck?: { readonly Test?: readonly string[] | null } | null;
  };
  readonly NetworkSettings?: { readonly Ports?: Readonly<Record<string, unknown>> | null };
}

/** Null where there is no such container. */
export async function serviceFacts(
  engine: Engine,
  name: string,
  options: EngineCallOptions = {},
): Promise<EngineReply<ServiceFacts | null>> {
  const said = await engine.call(['inspect', '--type', 'container', name], options);
  if (!said.ok) return said.failure.reason === 'gone' ? { ok: true, value: null } : said;
  const [one] = JSON.parse(said.value) as Inspected[];
  return { ok: true, value: one ? factsOf(one) : null };
}

function factsOf({ Id, State, Config, NetworkSettings }: Inspected): ServiceFacts {
  const test = Config?.Healthcheck?.Test?.[0] ?? 'NONE';
  const health = test === 'NONE' ? null : (State?.Health?.Status ?? 'starting');
  const ports = Object.keys(Config?.ExposedPorts ?? NetworkSettings?.Ports ?? {});
  return {
    id: Id ?? '',
    running: State?.Running ?? false,
    exitCode: State?.ExitCode ?? 0,
    oomKilled: State?.OOMKilled ?? false,
    pid: State?.Pid ?? 0,
    env: Config?.Env ?? [],
    exposed: ports.flatMap((port) => (/^\d+(\/tcp)?$/.test(port) ? [Number.parseInt(port, 10)] : [])),
    health,
    healthSaid: State?.Health?.Log?.at(-1)?.Output?.trim() ?? '',
  };
}
