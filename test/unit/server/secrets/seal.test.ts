import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KEY_BYTES, seal, unseal } from '../../../../src/server/secrets/seal.ts';

const key = randomBytes(KEY_BYTES);
const value = Buffer.from('pässword\nwith a second line');

describe('a sealed secret', () => {
  it('opens with its key, repository and name, byte for byte', () => {
    expect(unseal(key, 'a/b', 'TOKEN', seal(key, 'a/b', 'TOKEN', value))).toEqual(value);
  });

  it('does not show the value, and is another one each time', () => {
    const first = seal(key, 'a/b', 'TOKEN', value);
    expect(first.includes(value)).toBe(false);
    expect(first.equals(seal(key, 'a/b', 'TOKEN', value))).toBe(false);
  });

  it('does not open under another repository, name or key', () => {
    const sealed = seal(key, 'a/b', 'TOKEN', value);
    expect(unseal(key, 'a/c', 'TOKEN', sealed)).toBeNull();
    expect(unseal(key, 'a/b', 'OTHER', sealed)).toBeNull();
    expect(unseal(randomBytes(KEY_BYTES), 'a/b', 'TOKEN', sealed)).toBeNull();
  });

  it('does not open where any byte has changed or is missing', () => {
    const sealed = seal(key, 'a/b', 'TOKEN', value);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(unseal(key, 'a/b', 'TOKEN', changed)).toBeNull();
    }
    for (const length of [0, 1, 28, sealed.length - 1])
      expect(unseal(key, 'a/b', 'TOKEN', sealed.subarray(0, length))).toBeNull();
  });
});
