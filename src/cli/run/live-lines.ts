import { cut } from '../client/table.ts';

/**
 * Lines that stay at the bottom of a terminal while others scroll by above them. Elsewhere than on a
 * terminal nothing stays: only what is printed is written.
 */
export class LiveLines {
  readonly #write: (text: string) => void;
  readonly #columns: () => number;
  readonly #interactive: boolean;
  #live: readonly string[] = [];
  #shown = 0;

  constructor(write: (text: string) => void, interactive: boolean, columns: () => number) {
    this.#write = write;
    this.#interactive = interactive;
    this.#columns = columns;
  }

  /** Prints whole lines above the live ones. */
  print(text: string): void {
    if (!this.#interactive) {
      this.#write(text);
      return;
    }
    this.#write(this.#erase() + text + this.#draw());
  }

  /** What stands at the bottom from now on. */
  set(lines: readonly string[]): void {
    this.#live = lines;
    if (this.#interactive) this.#write(this.#erase() + this.#draw());
  }

  clear(): void {
    this.set([]);
  }

  #erase(): string {
    const text = this.#shown > 0 ? `\u001b[${this.#shown}A\r\u001b[J` : '';
    this.#shown = 0;
    return text;
  }

  #draw(): string {
    this.#shown = this.#live.length;
    const width = Math.max(20, this.#columns() - 1);
    // By code points: a wide character may still wrap, which only costs a line on the screen.
    return this.#live.map((line) => `${cut(line, width)}\n`).join('');
  }
}
