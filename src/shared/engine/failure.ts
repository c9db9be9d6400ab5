import type { CommandResult } from '../platform/commands.ts';
import type { EngineFailure, EngineFailureReason, EngineName } from './types.ts';

/** The words of docker and of podman, in the order in which they are looked for. */
const WORDS: readonly [EngineFailureReason, RegExp][] = [
  [
    'denied',
    /permission denied while trying to connect|Got permission denied|cannot clone: Operation not permitted/i,
  ],
  [
    'unreachable',
    /cannot connect to the docker daemon|is the docker daemon running|error during connect|connection refused|cannot connect to podman|unexpected EOF|connection reset by peer|server is shutting down|daemon is shutting down|transport is closing|containerd\.sock/i,
  ],
  ['no-image', /no such image|unable to find image|image not known|does not resolve to an image/i],
  [
    'gone',
    /no such (container|network|object|exec)|no container with (name|id)|network not found|unable to find network|container \S+ is not running|can only create exec sessions on running containers|container state improper|network \S+ not found/i,
  ],
];

/** What a client's failure means. Only for a result that is not `ok`. */
export function failureOf(name: EngineName, result: CommandResult): EngineFailure {
  if (result.missing) return { reason: 'missing', why: `${name} is not on this host, or not in PATH` };
  if (result.timedOut) return { reason: 'timeout', why: `${name} did not answer in time` };
  if (result.aborted) return { reason: 'stopped', why: `${name} was ended, since the run was stopped` };
  const said = plainWords(result.stderr);
  const why = said || `${name}: ${result.why}`;
  return { reason: reasonOf(result.stderr), why };
}

/** What the client's words on standard error mean; `failed` where they are none that are known. */
export function reasonOf(said: string): EngineFailureReason {
  return WORDS.find(([, words]) => words.test(said))?.[0] ?? 'failed';
}

/** Warnings, hints on usage, and docker's notice of three lines that its builder is an old one. */
const NOISE =
  /^(WARNING:|Run '.*--help'|See '.*--help'|DEPRECATED: The legacy builder|Install the buildx component|https:\/\/docs\.docker\.com\/go\/buildx)/i;

/** The engine's own words in one line, without its prefixes, warnings and hints on its usage. */
function plainWords(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !NOISE.test(line))
    .map((line) => line.replace(/^(docker|podman): /i, '').replace(/^Error( response from daemon)?: /i, ''));
  return lines.slice(-2).join('; ').slice(0, 400);
}
