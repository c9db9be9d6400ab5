import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Rig } from '../support/e2e-rig.ts';
import { VoleProcess } from '../support/vole-process.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

function vole(args: readonly string[]): VoleProcess {
  const running = new VoleProcess([...args, '--data', rig.dataDir]);
  rig.cleanup.defer(() => running.destroy());
  return running;
}

describe('whoever waits for a run that does not begin', () => {
  it('is told why by submit --wait, and again when that changes, and the JSON stays JSON', async () => {
    await rig.repository('team/app', { big: { cpus: 64, steps: ['true'] }, small: { steps: ['true'] } });
    const waiting = vole(['submit', 'team/app', 'big', '--wait', '--json']);
    const [, run = ''] = await waiting.says(/^vole: run (\d+) \(big\) waits: no runner is connected$/m);
    rig.runner(['--jobs', '1', '--cpus', '2']);
    await waiting.says(/\(big\) waits: it wants 64 cpus, and the largest runner has 2$/m);
    await rig.api('POST', `/api/runs/${run}/cancel`, {});
    expect((await waiting.ended).code).toBe(1);
    expect(waiting.stderr.trim().split('\n')).toHaveLength(2);
    expect(JSON.parse(waiting.stdout)).toMatchObject({ runs: [{ job: 'big', state: 'cancelled' }] });
  });

  it('is told why by logs -f of a queued run', async () => {
    await rig.repository('team/app', { job: { labels: ['gpu'], steps: ['true'] } });
    rig.runner();
    const [run = 0] = await rig.submit('team/app');
    const logs = vole(['logs', String(run), '-f']);
    await logs.says(new RegExp(`^vole: run ${run} \\(job\\) waits: no .* runner has the labels gpu$`, 'm'));
    await rig.api('POST', `/api/runs/${run}/cancel`, {});
    expect((await logs.ended).code).toBe(0);
    expect(logs.stdout).toBe('');
  });
});
