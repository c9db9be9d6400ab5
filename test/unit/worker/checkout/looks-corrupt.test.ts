import { expect, test } from 'vitest';
import { looksCorrupt } from '../../../../src/worker/checkout/git.ts';

test.each([
  'error: object file /x/objects/ab/cd is empty; fatal: loose object abcd is corrupt (exit 128)',
  'fatal: unable to read tree 4b825dc (exit 128)',
  'fatal: bad object 4b825dc (exit 128)',
  'error: inflate: data stream error (incorrect header check); fatal: x (exit 128)',
  'error: packfile ./objects/pack/pack-1.pack is too small; fatal: x',
  'fatal: bad config line 1 in file ./config (exit 128)',
  'fatal: not a git repository: "/x" (exit 128)',
])('%s means that objects are damaged', (said) => {
  expect(looksCorrupt(said)).toBe(true);
});

test.each([
  'fatal: bad config line 1 in file /home/vole/.gitconfig (exit 128)',
  'fatal: could not read Username for https://host: terminal prompts disabled (exit 128)',
  'the repository file:///x is empty',
  'error: unable to write file large; fatal: No space left on device (exit 128)',
  'git was ended',
])('%s does not', (said) => {
  expect(looksCorrupt(said)).toBe(false);
});
