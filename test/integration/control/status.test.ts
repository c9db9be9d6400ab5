import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlRig, PUBLIC_URL, SHA } from '../../support/control-rig.ts';
import { newRun } from '../../support/store-rig.ts';

let rig: ControlRig;

beforeEach(async () => {
  rig = await ControlRig.open();
});
afterEach(() => rig.cleanup.run());

describe('the status of a commit', () => {
  it('follows its run, and links to the page of the run', async () => {
    await rig.start();
    const [run] = await rig.queue(newRun({ key: 'test' }));
    const shown = () => rig.project.shown(SHA).find(({ context }) => context === 'vole/test');
    await rig.forge.state.until('pending', () => shown()?.state === 'pending');
    const leased = await rig.lease();
    if (leased === null) throw new Error('nothing to lease');
    await rig.finish(leased);
    await rig.forge.state.until('success', () => shown()?.state === 'success');
    expect(shown()).toMatchObject({ target_url: `${PUBLIC_URL}/runs/${run}` });
    expect(shown()?.description).toMatch(/^passed in \d+ s$/);
    expect(rig.faults).toEqual([]);
  });
});
