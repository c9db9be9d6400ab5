import type { ForgeKind } from '../../shared/api-forge.ts';
import type { HookEvent, Lane } from '../events/event.ts';
import type { TaskPayloads } from './control.ts';
import type { NewPipeline } from './new-pipeline.ts';

/** A delivery whose signature was right, about to be kept. */
export interface NewEvent {
  readonly repository: string;
  readonly forge: ForgeKind;
  /** The forge's id of the delivery. */
  readonly delivery: string;
  /** SHA-256 of the body: one that is sent again by hand has a new id and the same body. */
  readonly digest: Buffer;
  readonly event: HookEvent;
}

export interface StoredEvent {
  /** Place in the sequence of all that was received. */
  readonly id: number;
  readonly repository: string;
  readonly forge: ForgeKind;
  readonly delivery: string;
  readonly event: HookEvent;
  readonly receivedAt: number;
  readonly pending: boolean;
  /** What came of it, one line; empty while it is pending. */
  readonly result: string;
  readonly pipeline: number | null;
}

/** What an event causes, in the transaction that ends it. */
export interface EventResult {
  readonly result: string;
  readonly pipeline?: NewPipeline;
  /** Ends the commands of an issue that were received before it, once its author was found to be allowed. */
  readonly abort?: Omit<TaskPayloads['abort'], 'upToRun'>;
}

export interface EventFilter {
  readonly repository?: string;
  /** Only those that nothing came of yet. */
  readonly pendingOnly?: boolean;
  readonly limit: number;
  readonly before?: number;
}

/** The inbox: deliveries in the order received, each acted on once. */
export interface EventStore {
  /** Kept when this resolves. One that was received before, in whatever guise, changes nothing. */
  receive(event: NewEvent): Promise<{ event: number; repeated: boolean }>;
  /** Pending events in order, of one repository where it is named. */
  pending(lane: Lane, limit: number, repository?: string): Promise<StoredEvent[]>;
  repositoriesPending(lane: Lane): Promise<string[]>;
  /** Acts on it once: null where it was no longer pending. */
  settle(event: number, result: EventResult): Promise<{ pipeline: number | null; runs: number[] } | null>;
  /** The event that made this pipeline. */
  ofPipeline(pipeline: number): Promise<StoredEvent | null>;
  /** The latest first. */
  list(filter: EventFilter): Promise<StoredEvent[]>;
}
