import { suggest } from '../suggest.ts';
import type { Finding } from './messages.ts';

interface JobNeeds {
  readonly id: string;
  readonly needs: readonly string[];
}

/** Names in `needs` that are no jobs, and circles that no job could ever leave. */
export function needsFindings(jobs: readonly JobNeeds[]): Finding[] {
  const byId = new Map(jobs.map((job) => [job.id, job.needs]));
  const findings: Finding[] = [];
  for (const { id, needs } of jobs) {
    for (const need of needs) {
      if (byId.has(need)) continue;
      const others = [...byId.keys()].filter((other) => other !== id && !needs.includes(other));
      const meant = suggest(need, others);
      findings.push({
        path: ['jobs', id, 'needs'],
        what: 'value',
        message: `\`needs\`: there is no job \`${need}\`${meant ? `; is \`${meant}\` meant?` : ''}`,
      });
    }
  }
  if (findings.length > 0) return findings;
  const cycle = findCycle(byId);
  if (!cycle) return [];
  const circle = cycle.map((id) => `\`${id}\``).join(' needs ');
  return [
    {
      path: ['jobs', cycle[0] ?? '', 'needs'],
      what: 'value',
      message: `\`needs\` goes in a circle: ${circle}; expected an order`,
    },
  ];
}

/** The first circle, its start repeated at its end. Without recursion: a chain may be as long as the file. */
function findCycle(needs: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  for (const start of needs.keys()) {
    if (done.has(start)) continue;
    const trail: string[] = [start];
    const onTrail = new Set(trail);
    const next: number[] = [0];
    while (trail.length > 0) {
      const id = trail.at(-1) ?? '';
      const index = next.at(-1) ?? 0;
      const need = needs.get(id)?.[index];
      if (need === undefined) {
        done.add(id);
        onTrail.delete(id);
        trail.pop();
        next.pop();
        continue;
      }
      next[next.length - 1] = index + 1;
      if (onTrail.has(need)) return [...trail.slice(trail.indexOf(need)), need];
      if (done.has(need)) continue;
      trail.push(need);
      onTrail.add(need);
      next.push(0);
    }
  }
  return null;
}
