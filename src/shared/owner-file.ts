import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { EngineObject } from './engine/types.ts';
import { openRegular, standingAs } from './open-regular.ts';
import {
  type KeptEnd,
  type OwnerEvent,
  type OwnerIdentity,
  type OwnerRecord,
  ownerEventSchema,
  ownerIdentitySchema,
} from './owner-record.ts';
import { processStat } from './platform/processes.ts';

/** In a job's tree. */
export const OWNER_FILE = 'owner.jsonl';
/** Hundreds of thousands of steps; what is longer is not of our making and is not read into memory. */
const MOST_BYTES = 32 * 1024 * 1024;
const GROUP_MS = 20;

/**
 * The owner record of a job's tree, as its runner keeps it. Appending is synchronous: it is on disk before work
 * goes on. Only process groups are written a moment after they are told, since many steps are over by then;
 * until then their processes are found by the marker alone.
 */
export class OwnerFile {
  #fd: number | null;
  readonly #told = new Set<number>();
  #writing: NodeJS.Timeout | null = null;

  /** Throws where there is one already. The tree may be renamed afterwards. */
  constructor(tree: string, identity: OwnerIdentity) {
    this.#fd = openSync(path.join(tree, OWNER_FILE), 'ax');
    try {
      writeSync(this.#fd, `${JSON.stringify(identity)}\n`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Empties it: its run has ended, and the tree is nobody's. */
  clear(): void {
    this.#forget();
    if (this.#fd !== null) ftruncateSync(this.#fd, 0);
  }

  /** For another run, after `clear`. Throws where it cannot be written. */
  renew(identity: OwnerIdentity): void {
    if (this.#fd !== null) writeSync(this.#fd, `${JSON.stringify(identity)}\n`);
  }

  /** As `standingAs`; null once it is closed. */
  standingAs(file: string): string | null {
    return this.#fd === null ? null : standingAs(this.#fd, file);
  }

  group(pgid: number): void {
    this.#told.add(pgid);
    this.#writing ??= setTimeout(() => this.#writeGroups(), GROUP_MS);
  }

  groupGone(pgid: number): void {
    if (!this.#told.delete(pgid)) this.#append({ what: 'group-gone', pgid });
  }

  /** -1 once it is closed. */
  get fd(): number {
    return this.#fd ?? -1;
  }

  /** Throws where it cannot be written: what no record names must not be made. */
  engineObject({ kind, engine, name }: EngineObject): void {
    if (this.#fd === null) throw new Error('the owner record is closed');
    writeSync(this.#fd, `${JSON.stringify({ what: kind, engine, id: name } satisfies OwnerEvent)}\n`);
  }

  /** The run has ended so, and the server cannot be told just now. */
  ended({ outcome, logLength }: KeptEnd): void {
    this.#append({ what: 'ended', outcome, logLength });
  }

  engineObjectGone({ kind, engine, name }: EngineObject): void {
    this.#append({ what: `${kind}-gone`, engine, id: name });
  }

  /** Idempotent. */
  close(): void {
    this.#forget();
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #forget(): void {
    if (this.#writing) clearTimeout(this.#writing);
    this.#writing = null;
    this.#told.clear();
  }

  #writeGroups(): void {
    this.#writing = null;
    for (const pgid of this.#told)
      this.#append({ what: 'group', pgid, start: processStat(pgid)?.start ?? '0' });
    this.#told.clear();
  }

  /**
   * A disk that is full or fails must not end the process, nor a job that has made its record immutable;
   * the marker and the cgroup still lead to the job's processes.
   */
  #append(event: OwnerEvent): void {
    if (this.#fd === null) return;
    try {
      writeSync(this.#fd, `${JSON.stringify(event)}\n`);
    } catch {
      // see above
    }
  }
}

/** Null where there is no record, `unreadable` where there is one that cannot be understood. */
export function readOwner(tree: string): OwnerRecord | 'unreadable' | null {
  let fd: number;
  try {
    fd = openRegular(path.join(tree, OWNER_FILE));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : 'unreadable';
  }
  try {
    return fstatSync(fd).size > MOST_BYTES ? 'unreadable' : parseOwner(readFileSync(fd, 'utf8'));
  } catch {
    return 'unreadable';
  } finally {
    closeSync(fd);
  }
}

/** Parses the file's text. A torn last line is what a crash leaves and is ignored. */
export function parseOwner(text: string): OwnerRecord | 'unreadable' {
  const [first = '', ...rest] = text.split('\n');
  const identity = ownerIdentitySchema.safeParse(parseJson(first));
  if (!identity.success) return 'unreadable';
  const groups = new Map<number, string>();
  const objects = new Map<string, EngineObject>();
  let ended: KeptEnd | null = null;
  for (const line of rest) {
    const event = ownerEventSchema.safeParse(parseJson(line));
    if (!event.success) continue;
    if (event.data.what === 'ended') ended = { outcome: event.data.outcome, logLength: event.data.logLength };
    else apply(event.data, groups, objects);
  }
  return {
    identity: identity.data,
    groups: [...groups].map(([pgid, start]) => ({ pgid, start })),
    engineObjects: [...objects.values()],
    ended,
  };
}

function apply(
  event: Exclude<OwnerEvent, { what: 'ended' }>,
  groups: Map<number, string>,
  objects: Map<string, EngineObject>,
): void {
  switch (event.what) {
    case 'group':
      groups.set(event.pgid, event.start);
      return;
    case 'group-gone':
      groups.delete(event.pgid);
      return;
    case 'container':
    case 'network':
      objects.set(`${event.what} ${event.engine} ${event.id}`, {
        kind: event.what,
        engine: event.engine,
        name: event.id,
      });
      return;
    case 'container-gone':
    case 'network-gone':
      objects.delete(`${event.what.replace('-gone', '')} ${event.engine} ${event.id}`);
      return;
    default:
      event satisfies never;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
