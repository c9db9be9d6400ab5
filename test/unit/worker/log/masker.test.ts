import { describe, expect, test } from 'vitest';
import { Masker, PatternSet, secretPatterns } from '../../../../src/worker/log/masker.ts';

function masked(secrets: readonly string[], parts: readonly (string | Buffer)[]): string {
  const masker = new Masker(new PatternSet(secretPatterns(secrets)));
  const out = parts.map((part) => Buffer.from(masker.push(Buffer.from(part))));
  return Buffer.concat([...out, masker.end()]).toString('utf8');
}

/** Small and seeded, so that a failure comes again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Every place where a secret stands is covered, and what overlaps is one: what masking means, said slowly. */
function naive(secrets: readonly string[], text: string): string {
  let out = '';
  let told = 0;
  for (let at = 0; at < text.length; at++) {
    const lengths = secrets.filter((secret) => text.startsWith(secret, at)).map((secret) => secret.length);
    if (lengths.length > 0) {
      if (at >= told) out += '***';
      told = Math.max(told, at + Math.max(...lengths));
    } else if (at >= told) out += text[at] ?? '';
  }
  return out;
}

describe('a secret is masked', () => {
  const secret = 'pässwörd-€-1';

  test('however it is split in two', () => {
    const text = Buffer.from(`before ${secret} after ${secret}`);
    for (let at = 0; at <= text.length; at++) {
      const parts = [text.subarray(0, at), text.subarray(at)];
      expect(masked([secret], parts), `split at ${at}`).toBe('before *** after ***');
    }
  });

  test('a byte at a time', () => {
    const text = Buffer.from(`a${secret}${secret}b`);
    expect(
      masked(
        [secret],
        [...text].map((byte) => Buffer.from([byte])),
      ),
    ).toBe('a******b');
  });

  test('the longer one where one is the beginning of another, at every split', () => {
    const text = Buffer.from('x token-long y token z token-lon');
    for (let at = 0; at <= text.length; at++) {
      const parts = [text.subarray(0, at), text.subarray(at)];
      expect(masked(['token', 'token-long'], parts), `split at ${at}`).toBe('x *** y *** z ***-lon');
    }
  });

  test('where it follows a beginning of itself', () => {
    expect(masked(['aab1'], ['aaaab1', 'aaab', '1'])).toBe('aa***a***');
  });

  test('by lines where it has several, but not its short ones', () => {
    const key = '-----BEGIN KEY-----\r\nabcdefgh\n}\n\nxyz\nijklmnop\n-----END KEY-----\n';
    expect(masked([key], ['{\n  xyz: "abcdefgh"\n}\n ijklmnop\n'])).toBe('{\n  xyz: "***"\n}\n ***\n');
  });

  test('also when it is longer than what is read at once', () => {
    const long = 'k'.repeat(99_999);
    expect(masked([`${long}!`], ['a', long.slice(0, 50_000), long.slice(50_000), '!b'])).toBe('a***b');
  });
});

test('what cannot be the beginning of a secret is passed on at once', () => {
  const masker = new Masker(new PatternSet(secretPatterns(['secret'])));
  expect(masker.push(Buffer.from('hello\nse')).toString()).toBe('hello\n');
  expect(masker.push(Buffer.from('ven')).toString()).toBe('seven');
  expect(masker.end().toString()).toBe('');
});

test('without secrets nothing is copied or changed', () => {
  const bytes = Buffer.from('as it is');
  expect(new Masker(new PatternSet([])).push(bytes)).toBe(bytes);
});

test('it masks what a plain search finds, for random secrets, texts and splits', () => {
  for (let seed = 1; seed <= 3_000; seed++) {
    const next = random(seed);
    const word = (least: number, most: number): string =>
      Array.from({ length: least + next(most - least) }, () => 'abc'[next(3)] ?? 'a').join('');
    const secrets = Array.from({ length: 1 + next(4) }, () => word(4, 9));
    const text = Array.from({ length: next(12) }, () =>
      next(3) === 0 ? (secrets[next(secrets.length)] ?? '') : word(0, 6),
    ).join('');
    const parts: string[] = [];
    for (let at = 0; at < text.length; ) {
      const length = 1 + next(7);
      parts.push(text.slice(at, at + length));
      at += length;
    }
    expect(masked(secrets, parts), `seed ${seed}: ${secrets.join(' ')} in ${parts.join('|')}`).toBe(
      naive(secrets, text),
    );
  }
});

test('secrets that overlap are masked as one, wherever the text is split', () => {
  const text = Buffer.from('a first-second b');
  for (let at = 0; at <= text.length; at++) {
    const parts = [text.subarray(0, at), text.subarray(at)];
    expect(masked(['first-sec', 'sec-nothing', 't-second'], parts), `split at ${at}`).toBe('a *** b');
  }
});
