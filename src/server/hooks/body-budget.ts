/** Largest body of a delivery. */
export const MAX_BODY_BYTES = 25 * 1024 * 1024;

/**
 * Bytes of all bodies in hand, whoever sent them: they are not yet known to be signed. Those that say they
 * are small have room of their own, so that a few large ones do not shut out what a forge mostly sends.
 */
const SMALL_BYTES = 1024 * 1024;
const ROOM_BYTES = { small: 256 * SMALL_BYTES, large: 8 * MAX_BODY_BYTES };

export type BodyFault = 'too-big' | 'busy' | 'broken';

/**
 * Reads bodies within a bound for each and one for all together. What was taken is given back by
 * `release`, once, whatever became of the body.
 */
export class BodyBudget {
  readonly #room: { small: number; large: number };

  constructor(room: Readonly<{ small: number; large: number }> = ROOM_BYTES) {
    this.#room = { ...room };
  }

  /** Each part goes to `onPart` as it comes. A length that was announced is judged before anything is read. */
  async read(
    stream: AsyncIterable<Uint8Array> | null,
    announced: number | null,
    onPart: (part: Uint8Array) => void,
  ): Promise<{ body: Buffer; release: () => void } | BodyFault> {
    if (announced !== null && announced > MAX_BODY_BYTES) return 'too-big';
    const pool = announced !== null && announced <= SMALL_BYTES ? 'small' : 'large';
    if ((announced ?? 0) > this.#room[pool]) return 'busy';
    const parts: Uint8Array[] = [];
    let size = 0;
    const release = () => {
      this.#room[pool] += size;
      size = 0;
    };
    try {
      for await (const part of stream ?? []) {
        size += part.byteLength;
        this.#room[pool] -= part.byteLength;
        const fault = size > MAX_BODY_BYTES ? 'too-big' : this.#room[pool] < 0 ? 'busy' : null;
        if (fault !== null) {
          release();
          return fault;
        }
        onPart(part);
        parts.push(part);
      }
    } catch {
      // the sender went away, or took longer than a request may
      release();
      return 'broken';
    }
    return { body: Buffer.concat(parts, size), release };
  }
}
