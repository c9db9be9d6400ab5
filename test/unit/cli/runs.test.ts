import { describe, expect, it } from 'vitest';
import { paintFor } from '../../../src/cli/run/paint.ts';
import { runsTable, screenTable } from '../../../src/cli/runs.ts';
import { runView } from '../../../src/server/web/views.ts';
import { aRun } from '../../support/web-parts.ts';

const grey = paintFor({ env: {}, interactive: false });
const coloured = paintFor({ env: { TERM: 'xterm' }, interactive: true });
const long = {
  ref: `refs/heads/feature/${'branch-'.repeat(8)}`,
  job: `test (${'node 22, '.repeat(5)}linux)`,
};
const runs = [
  aRun({ id: 2, ...long, state: 'failed', endedAt: 5_000, detail: 'step 2 (npm test): exit code 3' }),
  aRun({ id: 1, state: 'passed', endedAt: 4_000 }),
].map((run) => runView(run));

describe('the table of runs', () => {
  it('is as wide as it is where no terminal is', () => {
    const text = runsTable(runs, 60_000);
    expect(text).toContain(long.job);
    expect(text).not.toMatch(/WHY|…/);
  });

  it.each([100, 120, 160])('fits a terminal of %d columns, with why a run failed', (width) => {
    const lines = screenTable(runs, 60_000, width, grey).trimEnd().split('\n');
    expect(Math.max(...lines.map((line) => Array.from(line).length))).toBeLessThanOrEqual(width);
    expect(lines[0]).toMatch(/^RUN +STATE .* REF +COMMIT +CREATED .* WHY$/);
    expect(lines[1]).toMatch(
      /^2 +failed +team\/app +test \(.* feature\/?.* aaaaaaaa +59 s ago +3 s +host1 +step 2/,
    );
    expect(lines[2]).toMatch(/^1 +passed +team\/app +test +main +aaaaaaaa /);
  });

  it('leaves out why where there is no room for it, and never a number', () => {
    const [head = '', failed = ''] = screenTable(runs, 60_000, 84, grey).split('\n');
    expect(head).not.toContain('WHY');
    expect(failed).toMatch(/^2 .* aaaaaaaa +59 s ago +3 s +host1$/);
  });

  it('has the state in its colour', () => {
    const text = screenTable(runs, 60_000, 120, coloured);
    expect(text).toContain('\u001b[31mfailed\u001b[0m');
    expect(text).toContain('\u001b[32mpassed\u001b[0m');
  });
});
