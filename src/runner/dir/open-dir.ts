import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { DirLayout } from '../../shared/dir-layout.ts';
import { oneLine, VoleError } from '../../shared/errors.ts';
import { Guards } from '../../shared/lock/guard.ts';
import { makeFolder } from '../../shared/platform/make-folder.ts';

const FORMAT = 1;
const formatSchema = z.object({ version: z.number().int().positive(), id: z.string().min(1) });

/** A runner's directory, ready for use. */
export interface RunnerDir {
  readonly layout: DirLayout;
  /** Random, made with the directory: tells its processes and containers from another's. */
  readonly id: string;
  readonly guards: Guards;
}

/** Makes what is not there yet. Several processes may do so at once. Throws a VoleError that names the directory. */
export async function openDir(root: string): Promise<RunnerDir> {
  const layout = new DirLayout(root);
  try {
    for (const folder of [
      layout.git,
      layout.cache,
      layout.images,
      layout.tools,
      layout.jobs,
      layout.trash,
      layout.locks,
    ]) {
      makeFolder(folder);
    }
    const guards = new Guards(layout.locks);
    const alone = await guards.exclusive('format');
    try {
      return { layout, id: readFormat(layout) ?? makeFormat(layout), guards };
    } finally {
      alone.release();
    }
  } catch (error) {
    if (error instanceof VoleError) throw error;
    const code = (error as NodeJS.ErrnoException).code === 'ENOSPC' ? 'disk-full' : 'io-error';
    throw new VoleError(code, `--dir ${layout.root} cannot be used: ${oneLine(error)}`, { cause: error });
  }
}

function readFormat(layout: DirLayout): string | null {
  let text: string;
  try {
    text = readFileSync(layout.format, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const parsed = formatSchema.safeParse(parseJson(text));
  if (!parsed.success)
    throw new VoleError('io-error', `${layout.format} is damaged: move ${layout.root} away`);
  if (parsed.data.version > FORMAT) {
    const why = `--dir ${layout.root} was made by a newer vole (format ${parsed.data.version}, this one knows ${FORMAT})`;
    throw new VoleError('io-error', why);
  }
  return parsed.data.id;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function makeFormat(layout: DirLayout): string {
  const id = randomBytes(6).toString('hex');
  writeFileSync(`${layout.format}.new`, `${JSON.stringify({ version: FORMAT, id })}\n`);
  renameSync(`${layout.format}.new`, layout.format);
  return id;
}
