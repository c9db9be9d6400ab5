import { describe, expect, it } from 'vitest';
import { lentSecrets } from '../../../../src/cli/run/lent-secrets.ts';

describe('secrets of vole run', () => {
  it('are the values of the variables that are named, and no others', () => {
    const env = { TOKEN: 'a long word', KEY: 'two\nlines', OTHER: 'not named' };
    expect(lentSecrets(['TOKEN', 'KEY'], env)).toEqual({ TOKEN: 'a long word', KEY: 'two\nlines' });
  });

  it.each([
    ['TOKEN', undefined, '--secret TOKEN: no variable TOKEN in the environment: export it first'],
    ['TOKEN', '', '--secret TOKEN: the value is empty'],
    ['TOKEN', 'abc', '--secret TOKEN: the value is under 4 bytes, too short to be masked in a log'],
    ['TOKEN', 'x'.repeat(70_000), '--secret TOKEN: the value is over 64 KiB'],
    ['TOKEN', 'abc\ufffddef', '--secret TOKEN: the value is no UTF-8 text'],
    [
      'VOLE_TOKEN',
      'abcdef',
      '--secret VOLE_TOKEN: names that begin with `VOLE_` are of what vole tells each job; give its name alone: the value comes from the environment',
    ],
    [
      'TOKEN=abcdef',
      undefined,
      '--secret TOKEN=...: a secret is named as a variable is: letters, digits and `_`; give its name alone: the value comes from the environment',
    ],
  ])('are refused by the rules of a server: %s', (name, value, message) => {
    const refused = expect.objectContaining({ code: 'usage', message }) as Error;
    expect(() => lentSecrets([name], { [name]: value })).toThrow(refused);
  });
});
