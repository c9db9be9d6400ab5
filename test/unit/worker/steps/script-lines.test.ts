import { describe, expect, it } from 'vitest';
import { scriptLines } from '../../../../src/worker/steps/script-lines.ts';

describe('the script of a step in its log', () => {
  it('is there line by line, as it was written', () => {
    expect(scriptLines({ name: 'set up', run: 'set -e\n\nif true; then\n  cd "$X"\nfi\n' })).toEqual([
      '  $ set -e',
      '  $',
      '  $ if true; then',
      '  $   cd "$X"',
      '  $ fi',
    ]);
  });

  it('is not said twice where the step is called by it', () => {
    expect(scriptLines({ name: 'npm test', run: 'npm test\n' })).toEqual([]);
    expect(scriptLines({ name: 'cd x', run: 'cd x\nmake' })).toEqual(['  $ cd x', '  $ make']);
  });

  it('is cut where it is long, and says how much is left out', () => {
    const lines = Array.from({ length: 41 }, (_, at) => `echo ${at}`);
    expect(scriptLines({ name: 'x', run: lines.slice(0, 40).join('\n') })).toHaveLength(40);
    expect(scriptLines({ name: 'x', run: lines.join('\n') }).slice(-2)).toEqual([
      '  $ echo 38',
      '  ... and 2 more lines',
    ]);
    expect(scriptLines({ name: 'x', run: '🙂'.repeat(500) })).toEqual([`  $ ${'🙂'.repeat(400)}...`]);
    expect(scriptLines({ name: 'x', run: '🙂'.repeat(300) })).toEqual([`  $ ${'🙂'.repeat(300)}`]);
  });
});
