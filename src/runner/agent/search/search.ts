import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import picomatch from 'picomatch';
import { runCommand } from '../../../shared/platform/commands.ts';
import type { SearchRequest } from './arguments.ts';
import { eachFile } from './each-file.ts';

/** Larger ones are nothing that a person has written. */
const MOST_BYTES = 4 * 1024 * 1024;
const LOOK_FOR_NUL = 8_000;

/** Files of a request, relative to the working directory, without what git ignores. */
export async function filesOf(request: SearchRequest, cwd: string): Promise<string[]> {
  const { path: start, hidden } = request;
  if (statSync(path.resolve(cwd, start), { throwIfNoEntry: false })?.isFile()) return [start];
  const allowed = globFilter(request.globs);
  const files = (await tracked(cwd, start)) ?? eachFile(cwd, start);
  return files.filter((file) => (hidden || !/(^|\/)\.[^/]/.test(file)) && allowed(file)).sort();
}

async function tracked(cwd: string, start: string): Promise<string[] | null> {
  const args = ['-c', 'core.fsmonitor=false', 'ls-files', '-z', '-co', '--exclude-standard', '--', start];
  const listed = await runCommand('git', args, { cwd, maxOutputBytes: 256 * 1024 * 1024 });
  if (!listed.ok) return null;
  // What is deleted is still listed.
  return [...new Set(listed.stdout.split('\0'))].filter(
    (file) => file !== '' && statSync(path.join(cwd, file), { throwIfNoEntry: false })?.isFile(),
  );
}

/** As `--glob` means it: a pattern without a slash is one of the file's name alone. */
export function globFilter(globs: readonly string[]): (file: string) => boolean {
  const rules = globs.map((glob) => {
    const excludes = glob.startsWith('!');
    const pattern = excludes ? glob.slice(1) : glob;
    const bare = pattern.replace(/^\//, '');
    const anywhere = bare.includes('/') ? bare : `**/${bare}`;
    return { excludes, matches: picomatch(anywhere, { dot: true }) };
  });
  const onlyIncluded = rules.some(({ excludes }) => !excludes);
  return (file) => {
    const last = rules.findLast(({ matches }) => matches(file));
    return last ? !last.excludes : !onlyIncluded;
  };
}

/** The pattern as JavaScript has it, or why it is none. */
export function patternOf(text: string): RegExp | string {
  const flags = /^\(\?([ims]+)\)/.exec(text);
  try {
    return new RegExp(text.slice(flags?.[0].length ?? 0), `g${flags?.[1] ?? ''}`);
  } catch (error) {
    return `regex parse error: ${(error as Error).message}`;
  }
}

/** One record of `rg --json` for each line that matches. */
export function* matchesIn(file: string, cwd: string, pattern: RegExp): Generator<object> {
  const full = path.resolve(cwd, file);
  const bytes = textOf(full);
  if (bytes === null || bytes.subarray(0, LOOK_FOR_NUL).includes(0)) return;
  let [number, offset] = [0, 0];
  for (const line of bytes.toString().split(/(?<=\n)/)) {
    number++;
    const text = line.replace(/\r?\n$/, '');
    const submatches = [...text.matchAll(pattern)]
      .filter(([match]) => match !== '')
      .map(({ 0: match, index }) => {
        const start = Buffer.byteLength(text.slice(0, index));
        return { match: { text: match }, start, end: start + Buffer.byteLength(match) };
      });
    if (submatches.length > 0) {
      const data = { path: { text: file }, lines: { text: line }, line_number: number };
      yield { type: 'match', data: { ...data, absolute_offset: offset, submatches } };
    }
    offset += Buffer.byteLength(line);
  }
}

/** Null where it is too large, gone, or not to be read. */
function textOf(file: string): Buffer | null {
  try {
    return statSync(file).size > MOST_BYTES ? null : readFileSync(file);
  } catch {
    return null;
  }
}
