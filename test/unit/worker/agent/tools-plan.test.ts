import { describe, expect, it } from 'vitest';
import { commandOf, keyOf, tailOf } from '../../../../src/worker/agent/tools/plan.ts';

describe('a script is started', () => {
  it.each([
    ['echo x', 'sh', ['/s']],
    ['', 'sh', ['/s']],
    ['#!/bin/bash\nx', '/bin/bash', ['/s']],
    ['#! /bin/bash -e\r\nx', '/bin/bash', ['-e', '/s']],
    ['#!/usr/bin/env -S node --a  --b \n', '/usr/bin/env', ['-S node --a  --b', '/s']],
    ['#!\necho x', 'sh', ['/s']],
    ['\n#!/bin/bash', 'sh', ['/s']],
  ])('%j by %s', (text, file, args) => {
    expect(commandOf('/s', text)).toEqual({ file, args });
  });
});

it('of an output the last 350 characters are told, in one line', () => {
  expect(tailOf('a\r\n\n  b \n')).toBe('a; b');
  expect(tailOf('')).toBe('');
  expect(tailOf(`x\n${'y'.repeat(348)}`)).toBe(`…${'; '.slice(1)}${'y'.repeat(348)}`);
  expect(tailOf('z'.repeat(10_000))).toHaveLength(350);
});

it('a key differs with each text and each setting, and with where one text ends', () => {
  const settings = { pythonVersion: '1', dotnetChannel: '2' };
  const keys = [
    keyOf(['a', 'b'], settings),
    keyOf(['ab'], settings),
    keyOf(['a', 'b', '1'], { ...settings, pythonVersion: '2' }),
    keyOf(['a', 'b'], { ...settings, pythonVersion: '3' }),
    keyOf(['a', 'b'], { ...settings, dotnetChannel: '3' }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(keyOf(['a', 'b'], { ...settings })).toBe(keys[0]);
});
