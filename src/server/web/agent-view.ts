import type { ApiAgent } from '../../shared/api.ts';
import { isFinal } from '../../shared/outcome.ts';
import { hiderOf } from '../control/parts.ts';
import type { Run } from '../store/store.ts';
import type { WebParts } from './parts.ts';

/** What the run's agent left, without the repository's secrets; null where it has none. */
export async function agentOf(
  parts: Pick<WebParts, 'store' | 'secrets'>,
  run: Pick<Run, 'id' | 'kind' | 'state' | 'repository'>,
): Promise<ApiAgent | null> {
  if (run.kind !== 'command' || !isFinal(run.state)) return null;
  const result = await parts.store.agents.resultOf(run.id);
  if (result === null) return null;
  const hide = await hiderOf(parts, run.repository);
  const { report, rounds, plan, change } = result;
  return { report: hide(report), rounds, planAccepted: plan?.accepted ?? null, change };
}
