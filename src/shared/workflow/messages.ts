import type { z } from 'zod';
import { suggest } from '../suggest.ts';
import { type Finding, valueAt } from './findings.ts';
import { keyHint } from './hints.ts';
import { foundWord, quoted } from './words.ts';
import type { Plain, YamlPath } from './yaml-types.ts';

type Issue = z.core.$ZodIssue;

/** What zod found in `root`, as findings with a message for people. */
export function findingsOf(issues: readonly Issue[], root: Plain, prefix: YamlPath = []): Finding[] {
  const findings = issues.flatMap((issue) => findingsOfIssue(issue, [...prefix, ...issue.path], root));
  return withoutMeant(findings, root);
}

/**
 * A key that is missing is not told of beside an unknown one that stands for it, as `steps` beside
 * `stps` or `script`, and none beside a `<<`; nor are `run` and `with` beside `uses`.
 */
export function withoutMeant(findings: readonly Finding[], root: Plain): Finding[] {
  const hinted = new Map<string, string>();
  for (const { path, what, message } of findings) {
    if (what !== 'key' || path.length === 0 || valueAt(root, path) === undefined) continue;
    const map = JSON.stringify(path.slice(0, -1));
    hinted.set(map, `${hinted.get(map) ?? ''}\n${message}`);
  }
  return findings.filter(({ path }) => {
    const key = String(path.at(-1));
    const stands = valueAt(root, path) !== undefined;
    if (path.length === 0 || (stands && key !== 'with')) return true;
    const said = hinted.get(JSON.stringify(path.slice(0, -1))) ?? '';
    if ((key === 'run' || key === 'with') && said.includes('the key `uses`')) return false;
    return stands || !(said.includes(`\`${key}\``) || said.includes('the key `<<`'));
  });
}

function findingsOfIssue(issue: Issue, path: YamlPath, root: Plain): Finding[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...path, key],
        what: 'key',
        message: unknownKey(path, key, issue.message.split(' '), root),
      }));
    case 'invalid_key': {
      const message = `the key ${quoted(String(path.at(-1)))}: ${issue.issues[0]?.message}`;
      return [{ path, what: 'key', message, keyAlone: true }];
    }
    case 'invalid_union':
      return unionFindings(issue.errors, path, root);
    default:
      return [{ path, what: 'value', message: `${nameOf(path)}${withFound(issue.message, path, root)}` }];
  }
}

/** Most messages of the schema say what is expected; what was found is the same for all of them. */
function withFound(message: string, path: YamlPath, root: Plain): string {
  if (message.includes(', found ')) return message;
  const value = valueAt(root, path);
  return value === null || typeof value === 'string' ? `${message}, found ${foundWord(value)}` : message;
}

/**
 * Of a union the branch that was meant is the one whose own type fits: only what is wrong deeper in
 * it is reported, or what is wrong with a text as such. Where no type fits, all that would are named.
 */
function unionFindings(branches: readonly (readonly Issue[])[], path: YamlPath, root: Plain): Finding[] {
  const meant = branches.find((issues) =>
    issues.some((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  );
  if (meant) return findingsOf(meant, root, path);
  const value = valueAt(root, path);
  const asText = branches.find((issues) => issues.every(({ code }) => code !== 'invalid_type'));
  if (asText && typeof value === 'string') return findingsOf(asText, root, path);
  const words = branches.flatMap((issues) =>
    issues.map(({ message }) => message.replace(/^expected /, '').replace(/, found .*$/, '')),
  );
  const message = `expected ${[...new Set(words)].join(' or ')}, found ${foundWord(value)}`;
  return [{ path, what: 'value', message: `${nameOf(path)}${message}` }];
}

function unknownKey(map: YamlPath, key: string, known: readonly string[], root: Plain): string {
  const hint = keyHint(map, key, valueAt(root, [...map, key]));
  if (hint !== null) return `the key ${quoted(key)}: ${hint}`;
  const meant = suggest(key, known);
  if (meant) return `the key ${quoted(key)} is not known here; is \`${meant}\` meant?`;
  return `the key ${quoted(key)} is not known here; expected one of ${known.join(', ')}`;
}

/** The key that the value stands at, and which of a list it is. */
function nameOf(path: YamlPath): string {
  const at = path.findLastIndex((part) => typeof part === 'string');
  if (at === -1) return '';
  const entry = path[at + 1];
  return `${typeof entry === 'number' ? `entry ${entry + 1} of ` : ''}${quoted(String(path[at]))}: `;
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
