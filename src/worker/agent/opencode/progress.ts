import type { Part, SessionStatus } from '@opencode-ai/sdk/v2/client';

/** Beyond the steps after which the server tells the model to come to an end, which not every model does. */
const SPARE_STEPS = 3;
/** Of one text or one command, in the log. */
const MOST_LINES = 100;
const MOST_LINE = 500;
const MOST_ERROR = 200;

/**
 * Turns what the server says of a turn's parts into lines for the run's log: each tool call when it begins
 * and when it fails, each text when it is complete. A part is told of again and again as it grows.
 */
export class Progress {
  readonly #say: (line: string) => void;
  readonly #mask: (text: string) => string;
  readonly #said = new Set<string>();
  /** Answers of the model so far. */
  steps = 0;
  /** What the model's service said when it was last asked, where it failed then. */
  failing: string | null = null;

  /** `mask` takes secrets out, before anything is cut: half of one would not be found. */
  constructor(say: (line: string) => void, mask: (text: string) => string) {
    this.#say = say;
    this.#mask = mask;
  }

  /** `mostSteps`: after which the server has told the model to come to an end. */
  isEndless(mostSteps: number): boolean {
    return this.steps > mostSteps + SPARE_STEPS;
  }

  part(part: Part): void {
    if (part.type === 'text' && part.time?.end !== undefined && !part.synthetic) {
      this.#once(`${part.id} text`, () => linesOf(this.#mask(part.text)));
    } else if (part.type === 'step-start') {
      this.#once(part.id, () => {
        this.steps++;
        this.failing = null;
        return [];
      });
    } else if (part.type === 'tool') {
      const { state } = part;
      if (state.status === 'pending') return;
      this.#once(`${part.id} begun`, () => {
        return [`[${part.tool}] ${describe(state.input, this.#mask)}`];
      });
      if (state.status === 'error') {
        this.#once(`${part.id} failed`, () => [
          `[${part.tool}] failed: ${(linesOf(this.#mask(state.error))[0] ?? '').slice(0, MOST_ERROR)}`,
        ]);
      }
    }
  }

  status(status: SessionStatus): void {
    if (status.type !== 'retry') return;
    this.failing = status.message;
    this.note(`the model's service, try ${status.attempt}: ${status.message}`);
  }

  /** A line that is worth saying once in a turn. */
  note(line: string): void {
    this.#once(line, () => [line]);
  }

  #once(key: string, lines: () => string[]): void {
    if (this.#said.has(key)) return;
    this.#said.add(key);
    for (const line of lines()) this.#say(line);
  }
}

/** Which of a tool's inputs says what it is about. */
const TELLING = ['command', 'filePath', 'pattern', 'path', 'query'];

function describe(input: Readonly<Record<string, unknown>>, mask: (text: string) => string): string {
  const values = TELLING.map((name) => input[name]).filter((value) => typeof value === 'string');
  const [first = ''] = values;
  return linesOf(mask(first)).join(' ; ').slice(0, MOST_LINE);
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trimEnd().slice(0, MOST_LINE));
  const all = lines.filter((line) => line !== '');
  if (all.length <= MOST_LINES) return all;
  return [...all.slice(0, MOST_LINES), `(${all.length - MOST_LINES} more lines)`];
}
