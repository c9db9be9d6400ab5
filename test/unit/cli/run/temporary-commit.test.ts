import { describe, expect, it } from 'vitest';
import { recordedSubmodules } from '../../../../src/cli/run/temporary-commit.ts';

const OLD = 'a'.repeat(40);
const NEW = 'b'.repeat(40);
const NONE = '0'.repeat(40);
const change = (modes: string, from: string, to: string, letter: string, file: string) =>
  `:${modes} ${from} ${to} ${letter}\0${file}\0`;

describe('what goes back into the index of a temporary commit', () => {
  it('is each submodule that moved, at its recorded commit, and no repository that is new', () => {
    const changes = [
      change('100644 100644', OLD, NEW, 'M', 'file'),
      change('160000 160000', OLD, NEW, 'M', 'a submodule\twith a tab'),
      change('160000 160000', OLD, NEW, 'M', 'next to it'),
      change('000000 160000', NONE, NEW, 'A', 'nested'),
      change('160000 000000', OLD, NONE, 'D', 'removed'),
    ];
    expect(recordedSubmodules(changes.join('')).split('\0')).toEqual([
      `160000 ${OLD}\ta submodule\twith a tab`,
      `160000 ${OLD}\tnext to it`,
      `0 ${NONE}\tnested`,
      '',
    ]);
  });

  it('is nothing where files alone have changed, whatever they are called', () => {
    const name = `:000000 160000 ${OLD} ${NEW} A`;
    expect(recordedSubmodules(change('100644 100644', OLD, NEW, 'M', `x${name}`))).toBe('');
    expect(recordedSubmodules('')).toBe('');
  });
});
