import { expect, it } from 'vitest';
import { inertText } from '../../../../src/shared/agent/inert-text.ts';

const visible = (text: string) => text.replaceAll('\u200b', '');

it.each([
  ['thanks @alice and @team/ops', /@[a-z]/],
  ['Closes #5, fixes #6 and resolves team/app#4', /#\d/],
  ['fixes GH-12', /GH-\d/],
  ['closes https://forge.example/team/app/issues/7', /issues\/\d/],
  ['[skip ci] [ci skip] [no ci] [Skip Actions] [skip-ci]', /\[(?:skip|ci|no)/i],
  ['x\n\nCo-authored-by: Eve <eve@example.org>\nSigned-off-by: Eve', /^[A-Za-z-]+: /m],
  ['Vole-Run: 99', /^Vole-Run/],
])('%j does nothing on a forge, and reads the same', (text, active) => {
  expect(text).toMatch(active);
  expect(inertText(text)).not.toMatch(active);
  expect(visible(inertText(text))).toBe(text);
});

it('leaves the rest alone', () => {
  const text = 'A heading\n\n- item: `a@b.c`, issue numbers like 5, [a link](https://x.example/) and note #x';
  expect(inertText(text)).toBe(text);
});
