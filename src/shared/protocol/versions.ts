import { OLDEST_PROTOCOL_VERSION } from './messages.ts';

export type VersionAnswer =
  /** What both then speak. */
  { readonly ok: true; readonly protocol: number } | { readonly ok: false; readonly why: string };

/** Runner and server may be one version apart, in either direction: then hosts can be updated one by one. */
export function agreeOnVersion(server: number, runner: number): VersionAnswer {
  const oldest = Math.max(server - 1, OLDEST_PROTOCOL_VERSION);
  if (runner >= oldest && runner <= server + 1) return { ok: true, protocol: Math.min(server, runner) };
  const which = runner < server ? 'old' : 'new';
  return {
    ok: false,
    why: `the runner speaks protocol ${runner}, too ${which} for this server: it speaks ${server}, and takes ${oldest} to ${server + 1}`,
  };
}
