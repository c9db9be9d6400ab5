import { describe, expect, it } from 'vitest';
import { faultyPipelines } from '../../../../src/cli/client/faulty-pipelines.ts';
import type { ApiPipelineSummary } from '../../../../src/shared/api.ts';

function aPipeline(id: number, fault: string | null): ApiPipelineSummary {
  const facts = { repository: 'team/app', event: 'push', ref: 'refs/heads/main', sha: 'a'.repeat(40) };
  const rest = {
    trust: 'trusted',
    title: '',
    retryOf: null,
    createdAtMs: 0,
    states: {},
    summary: '',
  } as const;
  return { id, fault, ...facts, ...rest };
}

describe('pipelines whose workflow file has a fault', () => {
  const pipelines = [
    aPipeline(9, 'x:1:1: bad\nx:2:1: worse'),
    aPipeline(8, null),
    aPipeline(3, 'x:3:3: old'),
  ];

  it('are told with the first line of it, beside runs that are no newer', () => {
    const line = 'pipeline 9 (team/app, main) has no runs: x:1:1: bad';
    expect(faultyPipelines(pipelines, [{ pipeline: 8 }, { pipeline: 5 }])).toEqual([line]);
    expect(faultyPipelines(pipelines, [{ pipeline: 9 }])).toEqual([]);
  });

  it('are all told where there are no runs, five at most', () => {
    expect(faultyPipelines(pipelines, [])).toHaveLength(2);
    const many = Array.from({ length: 9 }, (_, at) => aPipeline(at + 1, 'bad'));
    expect(faultyPipelines(many, [])).toHaveLength(5);
  });
});
