import type { MatrixEntry } from './types.ts';

/** `${{ ... }}` in a text: only `matrix.NAME` means something; everything else a job sees is in its environment. */
const EXPRESSION = /\$\{\{([\s\S]*?)\}\}/g;
const MATRIX_NAME = /^\s*matrix\.([A-Za-z_][A-Za-z0-9_-]*)\s*$/;

/** Those that a job has; null where no job's are meant, `any` where they are not known. */
export type MatrixNames = ReadonlySet<string> | 'any' | null;

/** What is wrong with the expressions of a text. */
export function expressionFaults(text: string, names: MatrixNames): string[] {
  const faults: string[] = [];
  for (const [whole, inner = ''] of text.matchAll(EXPRESSION)) {
    const name = MATRIX_NAME.exec(inner)?.[1];
    if (name === undefined) faults.push(unknownExpression(whole, inner.trim()));
    else if (names === null) faults.push(`\`${short(whole)}\`: there is no matrix here`);
    else if (names !== 'any' && !names.has(name)) {
      const known = names.size === 0 ? 'the job has no matrix' : `the matrix has ${[...names].join(', ')}`;
      faults.push(`\`${short(whole)}\`: ${known}`);
    }
  }
  if (text.replace(EXPRESSION, '').includes('${{')) faults.push('`${{` without `}}`');
  return faults;
}

function unknownExpression(whole: string, inner: string): string {
  const instead = inner.startsWith('secrets.')
    ? 'secrets of the repository are in the environment of trusted runs'
    : 'what vole knows of a run is in its environment as VOLE_*';
  return `\`${short(whole)}\` is not known; expected \`\${{ matrix.NAME }}\` (${instead})`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/** The text with the values of one entry put in; a name that only other entries have is empty. */
export function putIn(text: string, entry: MatrixEntry): string {
  if (!text.includes('${{')) return text;
  return text.replace(EXPRESSION, (whole, inner: string) => {
    const name = MATRIX_NAME.exec(inner)?.[1];
    if (name === undefined) return whole;
    return Object.hasOwn(entry, name) ? (entry[name] ?? '') : '';
  });
}

export function expressionCount(text: string): number {
  return text.includes('${{') ? [...text.matchAll(EXPRESSION)].length : 0;
}
