import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig } from '../../support/event-rig.ts';
import { pushPayload } from '../../support/payloads.ts';

const WORKFLOW = `jobs:
  lint: {steps: [{run: "true"}]}
  test: {needs: [lint], steps: [{run: "true"}], strategy: {matrix: {node: [20, 22]}}}
`;

let rig: EventRig;
beforeEach(async () => (rig = await EventRig.start()));
afterEach(() => rig.close());

describe('a push', () => {
  it('becomes a pipeline of its commit', async () => {
    const sha = rig.source.commit({ '.vole.yml': WORKFLOW }, 'first change\n\nmore of it');
    expect(await rig.deliver('push', pushPayload({ after: sha }))).toEqual({ status: 202, text: 'event 1' });
    expect(await rig.settled()).toMatchObject([{ id: 1, result: 'a pipeline', pipeline: 1 }]);
    expect(await rig.pipelines()).toMatchObject([
      { event: 'push', ref: 'refs/heads/main', sha, trust: 'trusted', title: 'first change', fault: null },
    ]);
    expect((await rig.runs()).map((run) => run.key)).toEqual(['lint', 'test (20)', 'test (22)']);
  });
});
