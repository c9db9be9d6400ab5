/** Most services of one job. */
export const MOST_SERVICES = 20;

/** A host name, so that every program takes it; what a name is by case, resolvers do not agree on. */
export const SERVICE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** By this name the services reach the job's own container. */
export const JOB_ALIAS = 'job';

const TAKEN: ReadonlySet<string> = new Set([JOB_ALIAS, 'localhost']);

export const SERVICE_NAME_WORDS =
  'expected a host name of lower-case letters, digits and -, which is not job or localhost';

export function isServiceName(name: string): boolean {
  return SERVICE_NAME.test(name) && !TAKEN.has(name);
}
