/** What a value may be, and what its text means. */
export type SettingKind =
  | { type: 'string'; maxLength?: number }
  /** Letters, digits, `-` and `_`, at most 30. */
  | { type: 'word' }
  /** A part of who signs a commit: one line without `<` and `>`. */
  | { type: 'signature'; maxLength: number }
  /** `USER` or `USER:GROUP`, each a name or a number. */
  | { type: 'user' }
  | { type: 'path' }
  /** `of`: what each item must be; any text by default. */
  | { type: 'list'; separator: ','; maxItems?: number; maxLength?: number; of?: 'variable names' }
  | { type: 'flag' }
  | { type: 'int'; min: number; max: number }
  | { type: 'number'; min: number; max: number }
  | { type: 'choice'; of: readonly string[] }
  /** Milliseconds in code; `90`, `90s`, `15m`, `2h`, `1d` in text (a bare number is seconds). */
  | { type: 'duration'; minMs: number; maxMs: number }
  /** Bytes in code; `500M`, `10GiB`, `1073741824` in text. */
  | { type: 'bytes'; min: number }
  /** Bytes as above or a share of the file system, `50%`. */
  | { type: 'size-or-share' }
  /** `HOST:PORT`; port 0 takes a free one. */
  | { type: 'address' }
  /** `https://HOST/PATH` without user, query or slash at its end. */
  | { type: 'web-url' }
  /** `3.13`, `8.0.1xx`, `LTS`: letters, digits, `.` and `-`, at most 30. */
  | { type: 'version' };

export type Command = 'server' | 'runner' | 'run' | 'bench' | 'cache' | 'client' | 'doctor';

/** What settings of one section are about, in the help of the commands that have many. */
export const SECTIONS = {
  addresses: 'Data and addresses',
  queue: 'Queue',
  comments: 'Comments that ask for something',
  server: 'The server that it works for',
  runs: 'Which runs it takes, and how many',
  disk: 'Directory and caches',
  jobs: 'Jobs',
  containers: 'Containers',
  agents: 'Agent runs',
} as const;
export type Section = keyof typeof SECTIONS;

export interface Setting {
  readonly kind: SettingKind;
  /** As text, as on the command line; null has none. */
  readonly default: string | null;
  readonly commands: readonly Command[];
  /** None stands under no heading. */
  readonly section?: Section;
  /** Those of `commands` that do not start without it; for the others it may be left out. */
  readonly required?: readonly Command[];
  /** A variable of another name that is read where neither flag nor own variable is given. */
  readonly otherEnv?: string;
  /**
   * Read from the environment alone, since every user of a host sees command lines, and never repeated in a
   * message. A setting of the same name with `-file` at its end is for a file.
   */
  readonly secret?: true;
  /** Placeholder in the help. */
  readonly value?: string;
  readonly doc: string;
}

export const int = (min: number, max: number) => ({ type: 'int', min, max }) as const;
export const duration = (minMs: number, maxMs: number) => ({ type: 'duration', minMs, maxMs }) as const;
export const DAY = 86_400_000;
