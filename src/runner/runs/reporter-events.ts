import type { KeptEnd } from '../../shared/owner-record.ts';

/** What the server says about a run while it is reported. */
export interface ReporterEvents {
  /** A person wants the run to end. */
  cancel(why: string): void;
  /** The run is somebody else's by now: what we still do for it counts for nothing. */
  stale(why: string): void;
  /** It has ended so, and that is not recorded yet, since the server is away or slow: it is to outlive this process. */
  unrecorded(end: KeptEnd): void;
}
