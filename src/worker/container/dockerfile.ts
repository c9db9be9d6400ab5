import { mayBeBuiltHere } from '../../shared/image-name.ts';

/**
 * Why a build may not begin from what its file names; null where it may. Some builders take an image's id
 * for a name, and so would build upon an image that is another repository's. Reads no more of the file
 * than `ARG`, `FROM` and `--from` need; what is wrong with it otherwise, the builder says.
 */
export function baseFault(text: string): string | null {
  const args = new Map<string, string>();
  const stages = new Set<string>();
  let count = 0;
  for (const words of instructions(text)) {
    const [keyword = '', ...rest] = words;
    switch (keyword.toUpperCase()) {
      case 'ARG':
        if (count === 0) for (const word of rest) declare(word, args);
        break;
      case 'FROM': {
        const [ref = '', as, stage = ''] = rest.filter((word) => !word.startsWith('--'));
        // Nothing else is a FROM: such lines stand in scripts that a file has within it.
        if (as !== undefined && as.toUpperCase() !== 'AS') break;
        const fault = stages.has(ref.toLowerCase()) ? null : faultOf(ref, args);
        if (fault !== null) return fault;
        stages.add(String(count++));
        if (stage) stages.add(stage.toLowerCase());
        break;
      }
      default:
        for (const [, ref = ''] of words.join(' ').matchAll(/(?:--|[,=])from=([^\s,]+)/g)) {
          const fault = stages.has(ref.toLowerCase()) ? null : faultOf(ref, args);
          if (fault !== null) return fault;
        }
    }
  }
  return null;
}

/** Whether its steps may keep caches from one build to the next. */
export function mountsCaches(text: string): boolean {
  return /--mount|syntax\s*=/.test(text);
}

function faultOf(ref: string, args: ReadonlyMap<string, string>): string | null {
  const name = expanded(ref, args);
  if (name === null) return `it cannot be told which image \`${ref}\` is`;
  if (!mayBeBuiltHere(name)) return null;
  return `\`${name}\` may be the id of an image that is another repository's: expected a name with a tag`;
}

/** As lists of words, lines that are continued joined, comments left out. */
function* instructions(text: string): Generator<string[]> {
  const escape = /^(#\s*\w+\s*=.*\n)*#\s*escape\s*=\s*`/i.test(text) ? '`' : '\\';
  let open = '';
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(#|$)/.test(line)) continue;
    const end = line.trimEnd();
    if (end.endsWith(escape)) {
      open += end.slice(0, -1);
      continue;
    }
    yield (open + end).trim().split(/\s+/);
    open = '';
  }
  if (open !== '') yield open.trim().split(/\s+/);
}

function declare(word: string, args: Map<string, string>): void {
  const at = word.indexOf('=');
  if (at > 0) args.set(word.slice(0, at), expanded(word.slice(at + 1), args) ?? '$?');
}

/** With variables put in and quotes taken away; null where that needs more than is known here. */
function expanded(word: string, args: ReadonlyMap<string, string>): string | null {
  const filled = word.replace(
    /\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^${}]*))?\})/g,
    (_, plain: string | undefined, braced: string | undefined, how = '', other = '') => {
      const value = args.get(plain ?? braced ?? '');
      const has = value !== undefined && (value !== '' || how.length < 2);
      if (how.endsWith('+')) return has ? other : '';
      return has ? value : other;
    },
  );
  return filled.includes('$') ? null : filled.replace(/["'\\`]/g, '');
}
