import type { z } from 'zod';
import { suggest } from '../suggest.ts';
import type { YamlPath } from './yaml-source.ts';

/** Something wrong at a place in the file, before the place is known as line and column. */
export interface Finding {
  readonly path: YamlPath;
  /** Whether the key itself is wrong or its value. */
  readonly what: 'key' | 'value';
  readonly message: string;
}

type Issue = z.core.$ZodIssue;

/** Keys that other CI systems have, and what stands for them here. */
const KEY_HINTS: Readonly<Record<string, string>> = {
  dockerfile: 'expected `image-file`',
  container: 'expected `image`',
  service: 'expected `services`',
  ports:
    'a service publishes no ports, the job reaches all of them by its name; expected `ready-ports` for those to wait for',
  volumes: 'a workflow mounts nothing',
  options: 'no flag of the engine comes from a workflow; expected `health-check`, `command` or `env`',
  credentials: 'the engine of the runner logs in to registries',
  entrypoint: 'expected `command`, the arguments for the image’s own entry point',
  uses: 'actions are not supported; expected `run`',
  with: 'actions are not supported; expected `run`',
  'runs-on': 'expected `labels`',
  script: 'expected `steps` with `run`',
  stage: 'expected `needs`',
};

/** What zod found, as findings with a message for people. */
export function findingsOf(issues: readonly Issue[], prefix: YamlPath = []): Finding[] {
  return issues.flatMap((issue) => findingsOfIssue(issue, [...prefix, ...issue.path]));
}

function findingsOfIssue(issue: Issue, path: YamlPath): Finding[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...path, key],
        what: 'key',
        message: unknownKey(key, issue.message.split(' ')),
      }));
    case 'invalid_key':
      return [
        { path, what: 'key', message: `the key \`${String(path.at(-1))}\`: ${issue.issues[0]?.message}` },
      ];
    case 'invalid_union':
      return unionFindings(issue.errors, path);
    default:
      return [{ path, what: 'value', message: `${nameOf(path)}${issue.message}` }];
  }
}

/**
 * Of a union the branch that was meant is the one whose own type fits: only what is wrong deeper in
 * it is reported. Where no type fits, all that would are named.
 */
function unionFindings(branches: readonly (readonly Issue[])[], path: YamlPath): Finding[] {
  const meant = branches.find((issues) =>
    issues.some((issue) => issue.path.length > 0 || isUnknownKey(issue)),
  );
  if (meant) return findingsOf(meant, path);
  const expected = branches.flatMap((issues) =>
    issues.map((issue) => issue.message.replace(/^expected /, '')),
  );
  const unique = [...new Set(expected.map((text) => text.replace(/, found .*$/, '')))];
  const found = expected.map((text) => /, found .*$/.exec(text)?.[0]).find(Boolean) ?? '';
  return [{ path, what: 'value', message: `${nameOf(path)}expected ${unique.join(' or ')}${found}` }];
}

function isUnknownKey(issue: Issue): boolean {
  return issue.code === 'unrecognized_keys';
}

function unknownKey(key: string, known: readonly string[]): string {
  const hint = KEY_HINTS[key];
  if (hint && Object.hasOwn(KEY_HINTS, key)) return `the key \`${key}\`: ${hint}`;
  const meant = suggest(key, known);
  if (meant) return `the key \`${key}\` is not known here; is \`${meant}\` meant?`;
  return `the key \`${key}\` is not known here; expected one of ${known.join(', ')}`;
}

function nameOf(path: YamlPath): string {
  const key = path.findLast((part) => typeof part === 'string');
  return key === undefined ? '' : `\`${key}\`: `;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  array: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'nothing',
};

/** The error map that schema.ts is checked with: types by the words of YAML. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${TYPE_WORDS[issue.expected] ?? issue.expected}, found ${foundWord(issue.input)}`;
    case 'too_big':
      return `expected at most ${issue.maximum} ${issue.origin === 'array' ? 'entries' : 'characters'}`;
    case 'too_small':
      return issue.minimum === 1 ? 'expected something, found nothing' : `expected at least ${issue.minimum}`;
    default:
      return undefined;
  }
}

function foundWord(input: unknown): string {
  if (input === undefined || input === null) return 'nothing';
  if (Array.isArray(input)) return 'a list';
  if (typeof input === 'object') return 'a map';
  const text = typeof input === 'string' ? input : typeof input;
  return `\`${text.length > 40 ? `${text.slice(0, 39)}…` : text}\``;
}
