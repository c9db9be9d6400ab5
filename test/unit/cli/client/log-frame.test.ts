import { describe, expect, it } from 'vitest';
import { logFooter, logHeader } from '../../../../src/cli/client/log-frame.ts';
import { runDetailView } from '../../../../src/server/web/views.ts';
import { aRun } from '../../../support/web-parts.ts';

const detail = (change: Parameters<typeof aRun>[0]) => runDetailView(aRun({ id: 4, ...change }), [], null);
const step = { exitCode: 0, signal: null, reason: null, detail: '' };

describe('what stands around a log', () => {
  it('says above it what it is of, where and when', () => {
    expect(logHeader(detail({ attempt: 2 }), 2, 62_000)).toEqual([
      'run 4: test of team/app, main aaaaaaaa',
      'host1, attempt 2, started 1 min ago',
    ]);
    expect(logHeader(detail({ attempt: 2 }), 1, 62_000)[1]).toBe('attempt 1 of 2');
  });

  it('says below it how long each step took, and how it ended', () => {
    const steps = [
      { ...step, name: 'npm ci', result: 'passed' as const, durationMs: 1_500 },
      { ...step, name: 'npm test', result: 'failed' as const, durationMs: 900, detail: 'exit code 3' },
    ];
    const ended = { endedAt: 5_000, steps, reason: 'exit', detail: 'step 2 (npm test): exit code 3' };
    expect(logFooter(detail({ ...ended, state: 'failed' }), 9_000)).toEqual([
      '✓ 1 npm ci    passed  1.5 s',
      '✗ 2 npm test  failed  900 ms  exit code 3',
      'run 4 failed after 3 s: step 2 (npm test): exit code 3; `vole why 4` says more',
    ]);
    const passed = detail({ state: 'passed', endedAt: 5_000 });
    expect(logFooter(passed, 9_000)).toEqual(['run 4 passed after 3 s']);
    expect(logFooter(detail({}), 9_000)).toEqual([
      'run 4 is running, 7 s so far; `vole logs 4 -f` follows it',
    ]);
  });

  it('commands no terminal', () => {
    const [header = ''] = logHeader(detail({ job: 'a\u001b[2Jb' }), 1, 9_000);
    expect(header).toBe('run 4: ab of team/app, main aaaaaaaa');
  });
});
