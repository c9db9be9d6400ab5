/** Bounds of a workflow file: it comes from whoever can open a pull request. */
export const WORKFLOW_LIMITS = {
  fileBytes: 1024 * 1024,
  /** Pieces of YAML syntax: reading stops there, before a hostile file costs a second. */
  tokens: 100_000,
  /** Lists and maps within one another. */
  depth: 50,
  /** Values after aliases are followed. */
  nodes: 50_000,
  /** Characters of all texts after aliases are followed, and of one job's after its matrix is put in. */
  textChars: 2 * 1024 * 1024,
  /** Of all runs together. */
  expandedChars: 32 * 1024 * 1024,
  matrixEntries: 256,
  runs: 1000,
  /** That are shown. */
  faults: 20,
  /** With more of them, the file is not looked at for others: it may be made to cost time. */
  keyFaults: 200,
} as const;
