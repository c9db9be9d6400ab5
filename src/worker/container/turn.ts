import { ImageFile, type ImageSubject } from '../../shared/engine/image-record.ts';
import { wholeLine } from '../../shared/errors.ts';
import type { PartFailure } from '../part-failure.ts';
import type { ImageParts, Provided } from './image-source.ts';

/** `shared`: those who have waited for it get the same, since it would be no other for them. */
export type Work =
  | { ok: true; image: string }
  | { ok: false; failure: PartFailure; output: string; shared: boolean };

export interface Turn {
  readonly guard: string;
  readonly subject: ImageSubject;
  /** `build` or `pull`, and of what. */
  readonly what: 'build' | 'pull';
  readonly of: string;
  /** Under the guard: whether there is nothing to do any more, and the image then. */
  ready(file: ImageFile): Promise<string | null>;
  work(): Promise<Work>;
}

const LOOK_MS = 50;

/**
 * Work that is done once at a time over all threads and processes of the directory: one does it, and
 * those who have waited meanwhile take what came of it, be it a failure. Who comes later begins anew.
 */
export async function inTurn(parts: ImageParts, name: string, turn: Turn): Promise<Provided> {
  const { main, log, job } = parts;
  const file = new ImageFile(job.imageRecords, name);
  const before = file.last?.turn;
  const asked = main.guard(turn.guard, 'exclusive');
  const waiting = sayWhomFor(file, (other) =>
    log.say(0, `waiting for run ${other}'s ${turn.what} of ${turn.of}`),
  );
  const mine = await asked;
  clearInterval(waiting);
  if (!mine.ok) return { ok: false, failure: { reason: 'host', why: mine.why } };
  try {
    const last = file.last;
    if (last && last.turn !== before) return taken(parts, turn, last);
    const image = await turn.ready(file);
    return image === null ? await work(parts, file, turn) : { ok: true, image };
  } catch (error) {
    const full = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    const why = `${turn.what} of ${turn.of}: ${wholeLine(error)}`;
    return { ok: false, failure: { reason: full ? 'disk-full' : 'host', why } };
  } finally {
    mine.done();
  }
}

/** Under the guard. Throws where it cannot be written down. */
async function work(parts: ImageParts, file: ImageFile, turnOf: Turn): Promise<Provided> {
  const { subject } = turnOf;
  const { run } = parts.task.spec;
  const turn = file.begin(run);
  const done = await turnOf.work();
  if (done.ok) {
    file.ended({ subject, turn, run, image: done.image, failure: null });
    return done;
  }
  const { failure, output, shared } = done;
  // Another's build or pull may well come to its end.
  if (!shared || parts.main.stopped) file.left();
  else file.ended({ subject, turn, run, image: null, failure: { why: failure.why, output } });
  return { ok: false, failure };
}

function taken(
  { log }: ImageParts,
  { what, of }: Turn,
  {
    run,
    image,
    failure,
  }: { run: number; image: string | null; failure: { why: string; output: string } | null },
): Provided {
  if (image !== null) return { ok: true, image };
  const why = failure?.why ?? `run ${run}'s ${what} of ${of} failed`;
  log.say(0, `run ${run}'s ${what} of ${of} failed, with this at its end:`);
  const lines = log.stream(0, 'e');
  lines.push(Buffer.from(failure?.output ?? ''));
  lines.end();
  return { ok: false, failure: { reason: 'image', why } };
}

/** Not at once: where nobody has the guard, what the file says is of one that has died. */
function sayWhomFor(file: ImageFile, say: (run: number) => void): NodeJS.Timeout {
  let said = '';
  return setInterval(() => {
    const { now } = file;
    if (!now || now.turn === said) return;
    said = now.turn;
    say(now.run);
  }, LOOK_MS);
}
