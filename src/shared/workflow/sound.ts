import { type Finding, valueAt } from './findings.ts';
import type { Plain } from './yaml-types.ts';

export type Section = 'jobs' | 'commands';

/**
 * Whether one of these keys of a job may not be what its author meant, so that what follows from it
 * would mislead. An unknown key may be meant for any that is not there.
 */
export type Doubts = (section: Section, job: string, keys: readonly string[]) => boolean;

export function doubtsOf(plain: Plain, findings: readonly Finding[]): Doubts {
  const jobs = new Map<string, Set<string> | 'all'>();
  const unknown = new Set<string>();
  for (const { path, what } of findings) {
    const [section, id, key] = path;
    const job = JSON.stringify([section, id]);
    if (path.length <= 2) jobs.set(job, 'all');
    const before = jobs.get(job) ?? new Set();
    if (before === 'all') continue;
    jobs.set(job, before.add(String(key)));
    if (path.length === 3 && what === 'key') unknown.add(job);
  }
  return (section, id, keys) => {
    const job = JSON.stringify([section, id]);
    const wrong = jobs.get(job) ?? new Set();
    if (wrong === 'all') return true;
    const isAbsent = (key: string) => valueAt(plain, [section, id, key]) === undefined;
    return keys.some((key) => wrong.has(key) || (unknown.has(job) && isAbsent(key)));
  };
}

/**
 * A copy without what is wrong, so that the rest can be looked at: a faulty key of the root or of a job
 * is left out, and with it a job that is faulty as a whole. Steps that are gone are one that does nothing.
 */
export function soundPart(plain: Plain, findings: readonly Finding[]): Plain {
  const root = structuredClone(plain);
  if (!isMap(root) || findings.some(({ path }) => path.length === 0)) return {};
  for (const { path } of findings) {
    const [key, id, inner] = path.map(String);
    const section = key === 'jobs' || key === 'commands' ? root[key] : undefined;
    if (key === undefined) continue;
    if (id === undefined || !isMap(section)) delete root[key];
    else if (inner === undefined) delete section[id];
    else withoutKey(section[id], inner);
  }
  return root;
}

function withoutKey(job: Plain | undefined, key: string): void {
  if (!isMap(job)) return;
  delete job[key];
  job['steps'] ??= [{ run: ':' }];
}

function isMap(plain: Plain | undefined): plain is { [key: string]: Plain } {
  return plain !== null && typeof plain === 'object' && !Array.isArray(plain);
}
