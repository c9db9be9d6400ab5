import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRig } from '../../support/event-rig.ts';
import { type PushFacts, pullPayload, pushPayload } from '../../support/payloads.ts';

const WORKFLOW = `on: {push: {paths: ['src/**', '!**/*.md']}, pull_request: {paths: ['src/**', '!**/*.md']}}
jobs: {test: {steps: [{run: "true"}]}}
`;
const NOT_CHANGED = 'nothing: `paths` names no changed file';

let rig: EventRig;
let start: string;
beforeEach(async () => {
  rig = await EventRig.start();
  start = rig.source.commit({ '.vole.yml': WORKFLOW, 'src/ü x': '1' });
});
afterEach(() => rig.close());

async function pushed(facts: PushFacts): Promise<string> {
  await rig.deliver('push', pushPayload(facts));
  return (await rig.settled()).at(-1)?.result ?? '';
}

describe('a filter of paths', () => {
  it('looks at all files that changed between before and after', async () => {
    rig.source.commit({ 'src/ü x': '2' });
    const both = rig.source.commit({ other: '1' });
    expect(await pushed({ before: start, after: both })).toBe('a pipeline');
    const outside = rig.source.commit({ other: '2', 'src/readme.md': 'x' });
    expect(await pushed({ before: both, after: outside })).toBe(NOT_CHANGED);
  });

  it('counts a file that was moved away or removed', async () => {
    rig.source.git('mv', 'src/ü x', 'elsewhere');
    const moved = rig.source.commit({});
    expect(await pushed({ before: start, after: moved })).toBe('a pipeline');
  });

  it('of a new branch looks at what it alone has', async () => {
    rig.source.git('checkout', '-q', '-b', 'topic');
    rig.source.commit({ 'docs/a': '1' });
    const outside = rig.source.commit({ 'docs/b': '1' });
    const ref = 'refs/heads/topic';
    expect(await pushed({ ref, before: null, after: outside })).toBe(NOT_CHANGED);
    rig.source.git('checkout', '-q', '-b', 'other');
    const inside = rig.source.commit({ 'src/c': '1' });
    expect(await pushed({ ref: 'refs/heads/other', before: null, after: inside })).toBe('a pipeline');
  });

  it('counts as matching where the start is gone, and for tags', async () => {
    const sha = rig.source.commit({ other: '1' });
    expect(await pushed({ before: 'e'.repeat(40), after: sha })).toBe('a pipeline');
    rig.source.git('tag', 'v1');
    expect(await pushed({ ref: 'refs/tags/v1', before: null, after: sha, commits: 0 })).toBe('a pipeline');
  });

  it('of a pull request looks at what it adds to its base', async () => {
    rig.source.git('checkout', '-q', '-b', 'change');
    const outside = rig.source.commit({ 'docs/a': '1' });
    rig.source.git('checkout', '-q', 'main');
    rig.source.commit({ 'src/meanwhile': '1' });
    await rig.deliver('pull_request', pullPayload({ sha: outside }));
    expect((await rig.settled()).at(-1)?.result).toBe(NOT_CHANGED);
    rig.source.git('checkout', '-q', 'change');
    const inside = rig.source.commit({ 'src/a': '1' });
    await rig.deliver('pull_request', pullPayload({ sha: inside, action: 'synchronized' }));
    expect((await rig.settled()).at(-1)?.result).toBe('a pipeline');
  });
});
