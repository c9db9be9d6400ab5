import type { Reason } from '../../../shared/outcome.ts';
import type { CommandResult } from '../../../shared/platform/commands.ts';

/** Why the workspace gives no commit: the agent's doing, unless git or the disk is at fault. */
export interface Unusable {
  readonly ok: false;
  readonly reason: Reason;
  /** One line. */
  readonly why: string;
}

export function unusable(why: string): Unusable {
  return { ok: false, reason: /no space left|ENOSPC|quota exceeded/i.test(why) ? 'disk-full' : 'agent', why };
}

/** Of a call of git that failed. */
export function gitFailed(what: string, result: CommandResult): Unusable {
  if (result.missing) return { ok: false, reason: 'host', why: 'git is not on this host' };
  return unusable(`${what}: ${result.why}`);
}
