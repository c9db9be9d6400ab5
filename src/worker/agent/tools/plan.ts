import { createHash } from 'node:crypto';
import path from 'node:path';
import type { AgentOptions } from '../../../shared/agent/options.ts';

/** Settings that a script may go by; another value of one is another installation. */
export type ToolParameters = Pick<AgentOptions, 'pythonVersion' | 'dotnetChannel'>;

/** How a script is started, which needs no executable bit: by its first line where that names a program. */
export function commandOf(script: string, text: string): { file: string; args: string[] } {
  const [first = ''] = text.split('\n', 1);
  // As the kernel does it: what follows the program is one argument.
  const [, program, argument] = /^#![ \t]*(\S+)[ \t]*(.*?)\s*$/.exec(first) ?? [];
  if (program === undefined) return { file: 'sh', args: [script] };
  return { file: program, args: argument ? [argument, script] : [script] };
}

/** Of everything by which one run of a script can differ from another that a stamp can know of. */
export function keyOf(texts: readonly string[], { pythonVersion, dotnetChannel }: ToolParameters): string {
  const hash = createHash('sha256').update(JSON.stringify([...texts, pythonVersion, dotnetChannel]));
  return hash.digest('hex');
}

/** What of the base environment reaches a script: how to get out of the host, and whom to trust there. */
const NETWORK =
  /^((https?|no|all)_proxy|ssl_cert_(file|dir)|curl_ca_bundle|requests_ca_bundle|node_extra_ca_certs)$/i;

/** The whole environment of a script; the marker is how what it starts is found again. */
export function scriptEnvironment(
  base: Readonly<Record<string, string>>,
  facts: { tools: string; tmp: string; node: string; marker: string } & ToolParameters,
): Record<string, string> {
  const network = Object.entries(base).filter(([name]) => NETWORK.test(name));
  return {
    ...Object.fromEntries(network),
    PATH: `${path.join(facts.tools, 'bin')}:${base['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'}`,
    HOME: path.join(facts.tools, 'home'),
    TMPDIR: facts.tmp,
    LC_ALL: 'C.UTF-8',
    VOLE_TOOLS: facts.tools,
    VOLE_NODE: facts.node,
    VOLE_PYTHON_VERSION: facts.pythonVersion,
    VOLE_DOTNET_CHANNEL: facts.dotnetChannel,
    VOLE_JOB_MARKER: facts.marker,
  };
}

const TAIL = 350;

/** The last of an output in one line, cut only now that secrets were taken out. */
export function tailOf(masked: string): string {
  const line = masked
    .split(/[\r\n]+/)
    .map((part) => part.trim())
    .filter(Boolean)
    .join('; ');
  return line.length > TAIL ? `…${line.slice(1 - TAIL)}` : line;
}
