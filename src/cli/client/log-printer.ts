import { StringDecoder } from 'node:string_decoder';
import { parseRecord } from '../../shared/log-record.ts';
import { lastDrawn } from '../../shared/plain-text.ts';

export interface PrintOptions {
  /** Only records of this step; null prints all. */
  readonly step: number | null;
  /** Seconds since the start and the step before each line. */
  readonly stamps: boolean;
  /** The records as they are. */
  readonly raw: boolean;
  /** One JSON object a record: `ms`, `step`, `stream`, `text`, `continues`; null where the line is no record. */
  readonly json: boolean;
  /** Before each line, such as `test | `; empty for none. */
  readonly prefix: string;
  /** Whether the lines go to a terminal, which some of their characters would command. */
  readonly terminal: boolean;
}

const NO_RECORD = { ms: null, stream: null, text: '', continues: false };

/** Turns a log's bytes, cut anywhere, into what a person reads. Holds back at most one record. */
export class LogPrinter {
  readonly #options: PrintOptions;
  readonly #decoder = new StringDecoder('utf8');
  #carry = '';
  /** Stream and step whose line has no end yet: its next record goes on with it. */
  #open: string | null = null;

  constructor(options: PrintOptions) {
    this.#options = options;
  }

  push(bytes: Buffer): string {
    const lines = (this.#carry + this.#decoder.write(bytes)).split('\n');
    this.#carry = lines.pop() ?? '';
    return lines.map((line) => this.#line(line)).join('');
  }

  /** What is left at the end: half a record is shown as it is, and an open line is ended. */
  end(): string {
    const rest = this.#carry + this.#decoder.end();
    this.#carry = '';
    const text = (rest === '' ? '' : this.#line(rest)) + (this.#open === null ? '' : '\n');
    this.#open = null;
    return text;
  }

  #line(line: string): string {
    const { step, stamps, raw, json, prefix } = this.#options;
    const record = parseRecord(line);
    if (json) {
      if (step !== null && record?.step !== step) return '';
      const { ms, stream, text, continues } = record ?? NO_RECORD;
      const fields = { ms, step: record?.step ?? null, stream, text: record ? text : line, continues };
      return `${JSON.stringify(fields)}\n`;
    }
    if (record === null) return step === null ? `${this.#close()}${prefix}${this.#shown(line)}\n` : '';
    if (step !== null && record.step !== step) return '';
    if (raw) return `${line}\n`;
    const name = `${record.stream}${record.step}`;
    const goesOn = this.#open === name;
    const stamp = stamps ? `${(record.ms / 1000).toFixed(3).padStart(9)} ${record.step} ` : '';
    const start = goesOn ? '' : `${this.#close()}${prefix}${stamp}`;
    this.#open = record.continues ? name : null;
    return `${start}${this.#shown(record.text)}${record.continues ? '' : '\n'}`;
  }

  #close(): string {
    return this.#open === null ? '' : '\n';
  }

  /**
   * A terminal keeps colours and tabs; what would move its cursor or set its title is taken out, and of a line
   * that is drawn again and again the last is left.
   */
  #shown(text: string): string {
    return this.#options.terminal ? colouredOnly(lastDrawn(text)) : text;
  }
}

// oxlint-disable-next-line no-control-regex
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
// oxlint-disable-next-line no-control-regex
const COLOUR = /^\u001b\[[0-9;:]*m$/;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000a-\u001a\u001c-\u001f\u007f-\u009f]|\u001b(?!\[[0-9;:]*m)/g;

export function colouredOnly(text: string): string {
  return text.replace(SEQUENCES, (sequence) => (COLOUR.test(sequence) ? sequence : '')).replace(CONTROLS, '');
}
