import { isAbsolute, resolve } from 'node:path';
import { formatBytes, formatDuration, parseBytes, parseDuration, parseShare } from '../units.ts';
import type { SettingKind } from './setting.ts';
import type { Address, SizeOrShare } from './types.ts';

export type SettingValue = string | number | boolean | readonly string[] | SizeOrShare | Address;

export type ParsedSetting = { ok: true; value: SettingValue } | { ok: false; allowed: string };

/** What a value of this kind may be, for messages and documentation. */
export function allowedText(kind: SettingKind): string {
  switch (kind.type) {
    case 'string': {
      const most = kind.maxLength === undefined ? '' : `, at most ${kind.maxLength} characters`;
      return `a text that is not empty${most}`;
    }
    case 'word':
      return 'a word of at most 30 letters, digits, `-` and `_`';
    case 'signature':
      return `one line without < and >, at most ${kind.maxLength} characters`;
    case 'user':
      return 'USER or USER:GROUP, each a name or a number';
    case 'path':
      return 'a path';
    case 'list': {
      const { maxItems, maxLength, of } = kind;
      const most = maxItems === undefined ? '' : `, at most ${maxItems} of ${maxLength} characters each`;
      return `a list ${of === undefined ? '' : `of ${of} `}separated by commas${most}`;
    }
    case 'flag':
      return 'true or false (also yes, no, on, off, 1, 0)';
    case 'int':
      return `a whole number from ${kind.min} to ${kind.max}`;
    case 'number':
      return `a number from ${kind.min} to ${kind.max}`;
    case 'choice':
      return kind.of.length === 1 ? `${kind.of[0]}` : `one of ${kind.of.join(', ')}`;
    case 'duration':
      return `a time from ${formatDuration(kind.minMs)} to ${formatDuration(kind.maxMs)}, such as 90s, 15m or 2h`;
    case 'bytes':
      return `a size of at least ${formatBytes(kind.min)}, such as 500M or 10GiB`;
    case 'size-or-share':
      return 'a size such as 500M or 10GiB, or a share of the file system such as 50%';
    case 'address':
      return 'HOST:PORT with a port from 0 to 65535';
    case 'web-url':
      return 'an http:// or https:// URL without user, query and fragment';
    case 'version':
      return 'a version such as 3.13 or LTS, of at most 30 letters, digits, `.` and `-`';
  }
}

/** Text of a flag or variable to the setting's value. Paths are made absolute against `cwd`. */
export function parseSetting(kind: SettingKind, text: string, cwd: string): ParsedSetting {
  const value = valueOf(kind, text, cwd);
  return value === null ? { ok: false, allowed: allowedText(kind) } : { ok: true, value };
}

function valueOf(kind: SettingKind, text: string, cwd: string): SettingValue | null {
  switch (kind.type) {
    case 'string':
      return text.trim().length > (kind.maxLength ?? Infinity) ? null : text.trim() || null;
    case 'word':
      return /^[A-Za-z0-9_-]{1,30}$/.test(text) ? text : null;
    case 'signature':
      return signatureOf(text, kind.maxLength);
    case 'user':
      return text.length <= 100 && /^\w[\w.-]*(?::\w[\w.-]*)?$/.test(text) ? text : null;
    case 'path':
      if (text === '' || text.includes('\0')) return null;
      return isAbsolute(text) ? resolve(text) : resolve(cwd, text);
    case 'list':
      return listOf(kind, text);
    case 'flag':
      return flagOf(text);
    case 'int':
      return within(/^\d{1,15}$/.test(text) ? Number(text) : null, kind.min, kind.max);
    case 'number':
      return within(/^\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : null, kind.min, kind.max);
    case 'choice':
      return kind.of.includes(text) ? text : null;
    case 'duration':
      return within(parseDuration(text), kind.minMs, kind.maxMs);
    case 'bytes':
      return within(parseBytes(text), kind.min, Number.MAX_SAFE_INTEGER);
    case 'size-or-share': {
      const share = parseShare(text);
      if (share !== null) return { share };
      const bytes = parseBytes(text);
      return bytes === null ? null : { bytes };
    }
    case 'address':
      return addressOf(text);
    case 'web-url':
      return webUrlOf(text);
    case 'version':
      return /^[A-Za-z0-9][A-Za-z0-9.-]{0,29}$/.test(text) ? text : null;
  }
}

/** Git would take the others out without a word. */
function signatureOf(text: string, maxLength: number): string | null {
  const line = text.trim();
  // oxlint-disable-next-line no-control-regex
  return line === '' || line.length > maxLength || /[<>\u0000-\u001f\u007f]/.test(line) ? null : line;
}

function within(value: number | null, min: number, max: number): number | null {
  return value !== null && value >= min && value <= max ? value : null;
}

/** Nothing but commas is a mistake: an empty list may mean everything. */
function listOf(kind: Extract<SettingKind, { type: 'list' }>, text: string): string[] | null {
  const parts = text
    .split(kind.separator)
    .map((part) => part.trim())
    .filter(Boolean);
  if (parts.length === 0 && text.trim() !== '') return null;
  const { maxItems = Infinity, maxLength = Infinity, of } = kind;
  const fits = (part: string): boolean =>
    part.length <= maxLength && (of === undefined || /^[A-Za-z_][A-Za-z0-9_]*$/.test(part));
  return parts.length <= maxItems && parts.every(fits) ? parts : null;
}

function flagOf(text: string): boolean | null {
  if (/^(true|1|yes|on)$/i.test(text)) return true;
  return /^(false|0|no|off)$/i.test(text) ? false : null;
}

function webUrlOf(text: string): string | null {
  if (text.length > 1000 || !/^https?:\/\/[^\s?#@]+$/i.test(text) || !URL.canParse(text)) return null;
  return text.replace(/\/+$/, '');
}

/** `127.0.0.1:80`, `name:80`, `[::1]:80`. */
function addressOf(text: string): Address | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text);
  if (!match) return null;
  const port = Number(match[3]);
  return port > 65_535 ? null : { host: match[1] ?? match[2] ?? '', port };
}
