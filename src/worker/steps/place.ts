import type { StepSpec } from '../../shared/job-spec.ts';
import type { StepCommand, StepExit } from '../../shared/platform/step-process.ts';
import type { Stop } from '../port.ts';
import type { Ended } from './step-result.ts';

/** What starts a step, without its output; `release` when its process has ended. */
export interface PlacedCommand {
  readonly command: Omit<StepCommand, 'stdoutFd' | 'stderrFd'>;
  readonly release: () => void;
}

/** The processes of one step, wherever they run. */
export interface PlacedProcesses {
  terminate(): void;
  kill(): void;
  /** Waits until what the signal was for has ended, or `giveUp` has come. */
  groupEnded(giveUp: Promise<void>): Promise<void>;
  /** Ends what the step left running and waits until it is gone; gives lines for people. */
  endLeftovers(): Promise<string[]>;
}

/** Where the steps of a run execute: on the host, or in its container. */
export interface Place {
  /** Writes the step's script. `why`: it cannot be started. Throws where there is no room to write. */
  command(step: StepSpec, number: number): { ok: true; placed: PlacedCommand } | { ok: false; why: string };
  processes(pgid: number): PlacedProcesses;
  /** What the step's end is called; `say` is for what its log should tell beside. */
  result(exit: StepExit, stop: Stop | null, lastError: string, say: (line: string) => void): Promise<Ended>;
}
