import type { RunState } from '../../shared/outcome.ts';

/** As the table of `vole run` has it. */
export function stateColour(state: RunState): 'green' | 'red' | 'yellow' {
  if (state === 'passed') return 'green';
  return state === 'failed' || state === 'timed-out' || state === 'lost' ? 'red' : 'yellow';
}
