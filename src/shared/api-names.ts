import { z } from 'zod';

/**
 * Names and addresses that people give to the server. Checked where they are typed, so that the
 * message comes at once, and again where they arrive.
 */

/** `owner/name`; no part starts with a dot or a dash, so that it is neither a path nor an option. */
export const repositoryNameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/,
    'a repository is OWNER/NAME, of letters, digits, `.`, `_` and `-`',
  );

export const accountNameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/,
    'an account is up to 64 letters, digits, `.`, `_` and `-`, and starts with none of the last two',
  );

export const secretNameSchema = z
  .string()
  .max(200, 'a secret has a name of at most 200 characters')
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a secret is named as a variable is: letters, digits and `_`')
  .refine((name) => !/^VOLE_/i.test(name), 'names that begin with `VOLE_` are of what vole tells each job');

export const SECRET_VALUE_BYTES = 64 * 1024;
/** Masking less would take ordinary words out of every log. */
const SECRET_LEAST_BYTES = 4;

/** What is wrong with a secret's value, or null. A variable of a process can hold no NUL byte. */
export function secretValueFault(value: Uint8Array): string | null {
  if (value.byteLength === 0) return 'the value is empty';
  if (value.byteLength > SECRET_VALUE_BYTES) return 'the value is over 64 KiB';
  if (value.includes(0)) return 'the value has a NUL byte, which no variable can hold';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(value);
  } catch {
    return 'the value is no UTF-8 text';
  }
  return value.byteLength < SECRET_LEAST_BYTES
    ? `the value is under ${SECRET_LEAST_BYTES} bytes, too short to be masked in a log`
    : null;
}

const SCHEMES = ['https:', 'http:', 'ssh:', 'git:', 'file:'];

/**
 * What is wrong with a clone URL, or null. Git runs programs for `ext::` and takes what starts with a
 * dash for an option, so only known schemes, `user@host:path` and absolute paths pass.
 */
export function cloneUrlFault(url: string): string | null {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(url)) return 'it has a control character';
  if (url.length === 0 || url.length > 2000) return 'it is empty or over 2000 characters';
  if (url.startsWith('-')) return 'it starts with `-`, which git takes for an option';
  if (url.startsWith('/')) return null;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*:)\/\//.exec(url)?.[1];
  if (scheme !== undefined) {
    if (!SCHEMES.includes(scheme.toLowerCase()))
      return `\`${scheme}//\` is not one of ${SCHEMES.join('// ')}//`;
    try {
      const { hostname } = new URL(url);
      return hostname.startsWith('-') ? 'its host starts with `-`' : null;
    } catch {
      return 'it is no URL';
    }
  }
  // the path after the first colon may not look like an option or like `helper::`
  if (/^[A-Za-z0-9_][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:-]/.test(url)) return null;
  return 'it is neither a URL (https, http, ssh, git, file), nor USER@HOST:PATH, nor an absolute path';
}

export const cloneUrlSchema = z.string().superRefine((url, context) => {
  const fault = cloneUrlFault(url);
  if (fault !== null) context.addIssue({ code: 'custom', message: fault });
});

/** What is wrong with a branch, tag, full ref or commit as a person gives it, or null. */
export function refFault(ref: string): string | null {
  if (ref.length === 0 || ref.length > 500) return 'it is empty or over 500 characters';
  if (ref.startsWith('-')) return 'it starts with `-`, which git takes for an option';
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(ref)) return 'it has a character that no ref has';
  if (ref.includes('..') || ref.includes('@{') || ref.includes('//')) return 'it holds `..`, `@{` or `//`';
  if (ref.startsWith('/') || ref.endsWith('/') || ref.endsWith('.') || ref.endsWith('.lock'))
    return 'it starts or ends as no ref does';
  return null;
}

/** A whole number in a query, `least` to `most`; no sign, no exponent. */
export function queryNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  const upTo = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `${least} to ${most}`;
  const allowed = `expected a whole number, ${upTo}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, allowed)
    .transform(Number)
    .pipe(z.number().min(least, allowed).max(most, allowed));
}
