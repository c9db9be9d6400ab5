/**
 * Plain data of a YAML text in which every scalar stays the text that was written (`1.10` is not
 * 1.1, `yes` is no boolean); a value left out, `~` and `null` are null.
 */
export type Plain = string | null | Plain[] | { [key: string]: Plain };

export type YamlPath = readonly PropertyKey[];

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}
