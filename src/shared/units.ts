/** Sizes and times as people write them. Each parser gives null where the text is none. */

const BYTE_UNITS: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1024,
  kib: 1024,
  kb: 1000,
  m: 1024 ** 2,
  mib: 1024 ** 2,
  mb: 1000 ** 2,
  g: 1024 ** 3,
  gib: 1024 ** 3,
  gb: 1000 ** 3,
  t: 1024 ** 4,
  tib: 1024 ** 4,
  tb: 1000 ** 4,
};

/** `1073741824`, `500M` and `500MiB` (powers of 1024), `500MB` (powers of 1000), `1.5G`; case does not matter. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/.exec(text.trim());
  if (!match) return null;
  const [, amount = '', suffix = ''] = match;
  const factor = BYTE_UNITS[suffix.toLowerCase()];
  if (factor === undefined) return null;
  const bytes = Math.floor(Number(amount) * factor);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

const TIME_UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90` (seconds), `250ms`, `90s`, `15m`, `2h`, `1d` or several in a row, `1h30m`. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return bounded(Number(trimmed) * 1000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(trimmed)) return null;
  let total = 0;
  for (const [, amount = '', unit = ''] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (TIME_UNITS[unit] ?? 0);
  }
  return bounded(total);
}

function bounded(ms: number): number | null {
  const rounded = Math.round(ms);
  return Number.isSafeInteger(rounded) ? rounded : null;
}

/** `50%` is 0.5; over 0 and at most 100%. */
export function parseShare(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?) ?%$/.exec(text.trim());
  if (!match) return null;
  const share = Number(match[1]) / 100;
  return share > 0 && share <= 1 ? share : null;
}

/** `0 B`, `1.5 KiB`, `12 GiB`: three digits at most, then the unit. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits).replace(/\.0$/, '')} ${units[unit]}`;
}

/** `850 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`: the two largest units. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(minutes / 60);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
