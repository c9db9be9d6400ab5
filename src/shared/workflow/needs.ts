import { suggest } from '../suggest.ts';
import { type Finding, valueAt } from './findings.ts';
import { WORKFLOW_LIMITS as LIMITS } from './limits.ts';
import { quoted } from './words.ts';
import type { Plain, YamlPath } from './yaml-types.ts';

interface Need {
  readonly name: string;
  readonly path: YamlPath;
}

type JobNeeds = ReadonlyMap<string, readonly Need[]>;

/**
 * Names in `needs` that are no jobs, and circles that no job could ever leave. Of the file as it is
 * written: what else is wrong with a job, or with another of its needs, does not matter.
 */
export function needsFindings(plain: Plain): Finding[] {
  const jobs = new Map(Object.keys(valueAt(plain, ['jobs']) ?? {}).map((id) => [id, needsOf(plain, id)]));
  return [...unknownNeeds(jobs), ...circles(jobs)];
}

function needsOf(plain: Plain, id: string): Need[] {
  const path = ['jobs', id, 'needs'];
  const needs = valueAt(plain, path);
  if (typeof needs === 'string') return [{ name: needs, path }];
  if (!Array.isArray(needs)) return [];
  return needs.flatMap((name, index) => (typeof name === 'string' ? [{ name, path: [...path, index] }] : []));
}

/** Up to as many as are shown, since a suggestion is looked for among all jobs. */
function unknownNeeds(jobs: JobNeeds): Finding[] {
  const findings: Finding[] = [];
  for (const [id, needs] of jobs) {
    const taken = new Set([id, ...needs.map(({ name }) => name)]);
    for (const { name, path } of needs.filter((need) => !jobs.has(need.name))) {
      if (findings.length > LIMITS.faults) return findings;
      const others = [...jobs.keys()].filter((other) => !taken.has(other));
      const meant = suggest(name, others);
      const message = `\`needs\`: there is no job ${quoted(name)}${meant ? `; is \`${meant}\` meant?` : ''}`;
      findings.push({ path, what: 'value', message });
    }
  }
  return findings;
}

/** Those that have no job in common, up to as many as are shown. */
function circles(jobs: JobNeeds): Finding[] {
  const findings: Finding[] = [];
  const left = new Map([...jobs].map(([id, needs]) => [id, needs.map(({ name }) => name)]));
  for (let cycle = findCycle(left); cycle && findings.length <= LIMITS.faults; cycle = findCycle(left)) {
    const circle = cycle.map((id) => quoted(id)).join(' needs ');
    const message = `\`needs\` goes in a circle: ${circle}; expected an order`;
    findings.push({ path: ['jobs', cycle[0] ?? '', 'needs'], what: 'value', message });
    for (const id of cycle) left.delete(id);
  }
  return findings;
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
