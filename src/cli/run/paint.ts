import type { CliContext } from '../context.ts';

export type Paint = (colour: 'red' | 'green' | 'yellow' | 'dim', text: string) => string;

const CODES = { red: 31, green: 32, yellow: 33, dim: 2 } as const;

/** Colours on a terminal that has them and whose owner has not refused them (https://no-color.org). */
export function paintFor(context: Pick<CliContext, 'env' | 'interactive'>): Paint {
  const wanted = context.interactive && !context.env['NO_COLOR'] && context.env['TERM'] !== 'dumb';
  return (colour, text) => (wanted && text !== '' ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text);
}
