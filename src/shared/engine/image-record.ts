import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { TRUSTS } from '../job-spec.ts';
import { ENGINES } from './types.ts';

const subjectSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('build'),
    engine: z.enum(ENGINES),
    repository: z.string(),
    trust: z.enum(TRUSTS),
    file: z.string(),
    tree: z.string(),
  }),
  z.object({ kind: z.literal('pull'), engine: z.enum(ENGINES), image: z.string() }),
]);
export type ImageSubject = z.infer<typeof subjectSchema>;

/** How the last build or pull ended, in `images/NAME.json`. Written whole, under the guard of the work. */
const recordSchema = z.object({
  version: z.literal(1),
  subject: subjectSchema,
  /** Another one each time: who waited sees by it that there was one meanwhile. */
  turn: z.string(),
  run: z.number().int(),
  /** Of a build the image's id, of a pull its name; null where it failed. */
  image: z.string().nullable(),
  failure: z.object({ why: z.string(), output: z.string() }).nullable(),
});
export type ImageRecord = z.infer<typeof recordSchema>;

/** Who is at it, in `images/NAME.now`; of no meaning while nobody has the guard. */
const nowSchema = z.object({ turn: z.string(), run: z.number().int() });

/** What is known of one build or pull, shared by all processes of a directory. */
export class ImageFile {
  readonly #record: string;
  readonly #now: string;

  constructor(folder: string, name: string) {
    this.#record = path.join(folder, `${name}.json`);
    this.#now = path.join(folder, `${name}.now`);
  }

  /** Null where there is none, or none that can be read. */
  get last(): ImageRecord | null {
    return readJson(this.#record, recordSchema);
  }

  get now(): { turn: string; run: number } | null {
    return readJson(this.#now, nowSchema);
  }

  /** Hold the guard of the work from here to `ended` or `left`. */
  begin(run: number): string {
    const turn = randomBytes(8).toString('hex');
    write(this.#now, { turn, run });
    return turn;
  }

  ended(record: Omit<ImageRecord, 'version'>): void {
    write(this.#record, { version: 1, ...record });
    this.left();
  }

  /** It has come to no end that others could share. */
  left(): void {
    rmSync(this.#now, { force: true });
  }

  /** The image is being used now. */
  used(): void {
    const now = new Date();
    try {
      utimesSync(this.#record, now, now);
    } catch (error) {
      // Nobody removes it from under a job but by hand, and the image is here all the same.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** When it was written or the image used last, in epoch ms. */
  get usedAt(): number {
    return statSync(this.#record, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  remove(): void {
    rmSync(this.#record, { force: true });
  }
}

/** Names of all that are in the folder. */
export function imageFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length));
}

function readJson<T extends z.ZodType>(file: string, schema: T): z.output<T> | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return null;
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function write(file: string, value: object): void {
  const beside = `${file}.${randomBytes(4).toString('hex')}.new`;
  writeFileSync(beside, JSON.stringify(value), { mode: 0o600 });
  renameSync(beside, file);
}
