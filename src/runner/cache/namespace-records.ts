import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { NamespaceKey } from '../../shared/dir-layout.ts';
import { TRUSTS } from '../../shared/job-spec.ts';

const recordSchema = z.object({
  repository: z.string(),
  trust: z.enum(TRUSTS),
  image: z.string(),
  /** Epoch ms of the last hold's begin or end. */
  lastUsed: z.number(),
  sizeBytes: z.number().nullable().default(null),
  measuredAt: z.number().nullable().default(null),
});
/** How exact `lastUsed` is. */
const EXACT_MS = 60_000;

/** No record takes this long to be written. */
const TORN_MS = 3_600_000;

export type NamespaceRecord = z.infer<typeof recordSchema>;

/**
 * The small record beside each namespace, `<name>.json`: its key in clear, when it was last used, its
 * size when last measured. Only facts for people and for the order of eviction: nothing that must not
 * be removed depends on it, so writers do not wait for one another.
 */
export class NamespaceRecords {
  readonly #cache: string;
  /** Of the namespaces that jobs of this process use, with the file that each was in: a change makes a new one. */
  readonly #known = new Map<string, { readonly version: string; readonly record: NamespaceRecord }>();

  constructor(cache: string) {
    this.#cache = cache;
  }

  /** Null where there is none, or none that can be understood. */
  read(name: string): NamespaceRecord | null {
    try {
      const parsed = recordSchema.safeParse(JSON.parse(readFileSync(this.#file(name), 'utf8')));
      return parsed.success ? parsed.data : null;
    } catch {
      return null;
    }
  }

  /** Every one that can be read. */
  all(): NamespaceRecord[] {
    return this.names().flatMap((name) => this.read(name) ?? []);
  }

  /** At a hold's begin and end. A minute is exact enough for the order of eviction, and a file less a job. */
  used(name: string, key: NamespaceKey): void {
    const before = this.#lastRead(name);
    const unmeasured = before === null || (before.measuredAt ?? 0) <= before.lastUsed;
    if (before && unmeasured && Math.abs(Date.now() - before.lastUsed) < EXACT_MS) return;
    this.#write(name, {
      ...key,
      lastUsed: Date.now(),
      sizeBytes: before?.sizeBytes ?? null,
      measuredAt: before?.measuredAt ?? null,
    });
  }

  /** `measuredAt`: when measuring began; null where it was in use meanwhile, so that it is measured again. */
  measured(name: string, sizeBytes: number, measuredAt: number | null): void {
    const before = this.read(name);
    if (before) this.#write(name, { ...before, sizeBytes, measuredAt });
  }

  /**
   * Asked for by a job with `--no-cache`: whoever can have the namespace alone removes it. A file of its
   * own, since a writer of the record that read it before could else take the wish back.
   */
  unwanted(name: string): void {
    try {
      writeFileSync(this.#unwantedFile(name), '');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  isUnwanted(name: string): boolean {
    return existsSync(this.#unwantedFile(name));
  }

  /** Under the exclusive guard, when the namespace has been moved away. */
  forget(name: string): void {
    this.#known.delete(name);
    rmSync(this.#unwantedFile(name), { force: true });
    rmSync(this.#file(name), { force: true });
  }

  /** Names that have a record or a wish and no directory: what a crash between two steps left. */
  strays(): string[] {
    const entries = readdirSync(this.#cache);
    const there = new Set(entries);
    const named = entries.flatMap((entry) => {
      const name = /^([^.].*)\.json$|^\.unwanted-(.+)$/.exec(entry);
      return name?.[1] ?? name?.[2] ?? [];
    });
    return [...new Set(named)].filter((name) => !there.has(name));
  }

  /** Removes half-written records of processes that were killed meanwhile. */
  removeTorn(): void {
    for (const entry of readdirSync(this.#cache)) {
      if (!/^\..+\.[0-9a-f]{8}$/.test(entry)) continue;
      const file = path.join(this.#cache, entry);
      const stat = statSync(file, { throwIfNoEntry: false });
      if (stat && Date.now() - stat.mtimeMs > TORN_MS) rmSync(file, { force: true });
    }
  }

  /** Names of the namespaces whose directories are there. */
  names(): string[] {
    return readdirSync(this.#cache, { withFileTypes: true })
      .filter((entry) => !entry.name.endsWith('.json') && !entry.name.startsWith('.'))
      .map((entry) => entry.name);
  }

  /** Twice a job, and mostly nobody has written it since. */
  #lastRead(name: string): NamespaceRecord | null {
    const version = versionOf(this.#file(name));
    const known = this.#known.get(name);
    if (known?.version === version) return known.record;
    this.#known.delete(name);
    const record = this.read(name);
    if (version !== null && record) this.#known.set(name, { version, record });
    return record;
  }

  #unwantedFile(name: string): string {
    return path.join(this.#cache, `.unwanted-${name}`);
  }

  #file(name: string): string {
    return path.join(this.#cache, `${name}.json`);
  }

  /** A full disk costs a fact, not a job. */
  #write(name: string, record: NamespaceRecord): void {
    const temporary = path.join(this.#cache, `.${name}.${randomBytes(4).toString('hex')}`);
    try {
      writeFileSync(temporary, `${JSON.stringify(record)}\n`);
      renameSync(temporary, this.#file(name));
    } catch (error) {
      rmSync(temporary, { force: true });
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

/** Null where there is none. */
function versionOf(file: string): string | null {
  try {
    const { ino, ctimeNs, size } = statSync(file, { bigint: true });
    return `${ino} ${ctimeNs} ${size}`;
  } catch {
    return null;
  }
}
