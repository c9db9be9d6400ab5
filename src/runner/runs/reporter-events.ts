/** What the server says about a run while it is reported. */
export interface ReporterEvents {
  /** A person wants the run to end. */
  cancel(why: string): void;
  /** The run is somebody else's by now: what we still do for it counts for nothing. */
  stale(why: string): void;
}
