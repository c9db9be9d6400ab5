import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { openRegular } from '../../shared/open-regular.ts';

const FILE = /^lease-\d+$/;
/** Beside them: whose they are. */
export const LEASED_FROM_FILE = 'leased-from.json';
const KEY = /^[0-9a-f]{24}$/;
const KEY_BYTES = 24;
const MOST_BYTES = 4096;

const leasedFromSchema = z.object({
  /** The server's id. */
  server: z.string(),
  account: z.string(),
});
/** Which server has given a process its leases, and to which account. */
export type LeasedFrom = z.infer<typeof leasedFromSchema>;

/**
 * The keys of leases whose reply may accept a job, a file a slot, where a sweep finds them when this process
 * was killed: what stands under such a key and has no tree was never begun, and is given back at once.
 */
export class LeaseKeys {
  readonly #folder: string;
  readonly #from: LeasedFrom;
  readonly #files = new Map<number, number>();
  readonly #left = new Set<number>();

  /** `folder`: of this process alone, which a sweep takes after its death. */
  constructor(folder: string, from: LeasedFrom) {
    this.#folder = folder;
    this.#from = from;
  }

  /** To be called before the lease is asked for. False where it cannot be written down. */
  note(slot: number, key: string): boolean {
    try {
      writeSync(this.#files.get(slot) ?? this.#open(slot), key, 0);
      return true;
    } catch {
      return false;
    }
  }

  /** What the slot noted last stays after `close`, as it would stay of a process that is killed. */
  leave(slot: number): void {
    if (this.#files.has(slot)) this.#left.add(slot);
  }

  /** Whether something stays in the folder. Idempotent. */
  close(): boolean {
    for (const [slot, fd] of this.#files) {
      closeSync(fd);
      if (!this.#left.has(slot)) rmSync(this.#file(slot), { force: true });
    }
    this.#files.clear();
    return this.#left.size > 0;
  }

  #open(slot: number): number {
    if (this.#files.size === 0) {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path.join(this.#folder, LEASED_FROM_FILE), JSON.stringify(this.#from), { mode: 0o600 });
    }
    const fd = openSync(this.#file(slot), 'w', 0o600);
    this.#files.set(slot, fd);
    return fd;
  }

  #file(slot: number): string {
    return path.join(this.#folder, `lease-${slot}`);
  }
}

export interface LeftLeaseKey {
  readonly name: string;
  readonly key: string;
  /** Epoch milliseconds. */
  readonly notedAt: number;
}

/** What a dead process has left in its folder; anything that is no such file is passed over. */
export function leftLeaseKeys(folder: string): LeftLeaseKey[] {
  return readdirSync(folder).flatMap((name): LeftLeaseKey[] => {
    if (!FILE.test(name)) return [];
    const file = path.join(folder, name);
    const key = headOf(file, KEY_BYTES);
    return KEY.test(key) ? [{ name, key, notedAt: lstatSync(file).mtimeMs }] : [];
  });
}

/** Null where it does not say. */
export function leasedFrom(folder: string): LeasedFrom | null {
  try {
    return leasedFromSchema.parse(JSON.parse(headOf(path.join(folder, LEASED_FROM_FILE), MOST_BYTES)));
  } catch {
    return null;
  }
}

/** Of a regular file; empty where there is none. */
function headOf(file: string, most: number): string {
  let fd: number | null = null;
  try {
    fd = openRegular(file);
    const bytes = Buffer.alloc(most);
    return bytes.toString('utf8', 0, readSync(fd, bytes));
  } catch {
    return '';
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
