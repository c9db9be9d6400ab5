/**
 * What worker threads say to the spawner over its socket, a JSON object a line. One request each; its
 * first answer says whether the process exists, the second how it ended.
 */
export interface SpawnRequest {
  readonly id: number;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Paths of the output's write ends: `/proc/<pid>/fd/<n>` of the asking process. */
  readonly stdout: string;
  readonly stderr: string;
}

export type SpawnAnswer =
  | { readonly id: number; readonly what: 'spawned'; readonly pgid: number }
  /** The command is at fault. */
  | { readonly id: number; readonly what: 'refused'; readonly why: string }
  /** The spawner cannot do it here: the thread spawns by itself. */
  | { readonly id: number; readonly what: 'unable' }
  | {
      readonly id: number;
      readonly what: 'exited';
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
    };
