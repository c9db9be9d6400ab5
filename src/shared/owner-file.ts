import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import {
  type OwnerEvent,
  type OwnerIdentity,
  type OwnerRecord,
  ownerEventSchema,
  ownerIdentitySchema,
} from './owner-record.ts';
import { processStat } from './platform/processes.ts';

const FILE = 'owner.jsonl';

/** The owner record of a job's tree, as its runner keeps it. Appending is synchronous: it is on disk before work goes on. */
export class OwnerFile {
  #fd: number | null;

  /** Throws where there is one already. The tree may be renamed afterwards. */
  constructor(tree: string, identity: OwnerIdentity) {
    this.#fd = openSync(path.join(tree, FILE), 'ax');
    writeSync(this.#fd, `${JSON.stringify(identity)}\n`);
  }

  group(pgid: number): void {
    this.#append({ what: 'group', pgid, start: processStat(pgid)?.start ?? '0' });
  }

  groupGone(pgid: number): void {
    this.#append({ what: 'group-gone', pgid });
  }

  /** Idempotent. */
  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  /** A full disk must not end the process; the marker and the cgroup still lead to the job's processes. */
  #append(event: OwnerEvent): void {
    if (this.#fd === null) return;
    try {
      writeSync(this.#fd, `${JSON.stringify(event)}\n`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

/** Null where there is no record, `unreadable` where there is one that cannot be understood. */
export function readOwner(tree: string): OwnerRecord | 'unreadable' | null {
  let text: string;
  try {
    text = readFileSync(path.join(tree, FILE), 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : 'unreadable';
  }
  return parseOwner(text);
}

/** Parses the file's text. A torn last line is what a crash leaves and is ignored. */
export function parseOwner(text: string): OwnerRecord | 'unreadable' {
  const [first = '', ...rest] = text.split('\n');
  const identity = ownerIdentitySchema.safeParse(parseJson(first));
  if (!identity.success) return 'unreadable';
  const groups = new Map<number, string>();
  const containers = new Set<string>();
  for (const line of rest) {
    const event = ownerEventSchema.safeParse(parseJson(line));
    if (event.success) apply(event.data, groups, containers);
  }
  return {
    identity: identity.data,
    groups: [...groups].map(([pgid, start]) => ({ pgid, start })),
    containers: [...containers],
  };
}

function apply(event: OwnerEvent, groups: Map<number, string>, containers: Set<string>): void {
  switch (event.what) {
    case 'group':
      groups.set(event.pgid, event.start);
      return;
    case 'group-gone':
      groups.delete(event.pgid);
      return;
    case 'container':
      containers.add(event.id);
      return;
    case 'container-gone':
      containers.delete(event.id);
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
