import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Job, Rig } from '../support/e2e-rig.ts';
import { useEngine } from '../support/engine-rig.ts';
import { removeLeftAtEnd } from '../support/image-rig.ts';

const engine = useEngine();
let rig: Rig;
afterEach(() => rig?.close());

const bin = path.resolve(import.meta.dirname, '../../bin/vole.cjs');

it('twenty jobs that would each take a core leave the heartbeats in time', async () => {
  // A heartbeat comes every five seconds: one that is three late loses its run.
  rig = await Rig.start(['--lease-time', '8']);
  removeLeftAtEnd(rig.cleanup, engine(), path.join(rig.root, 'dir'));
  const busy: Job = { image: engine().image, steps: ['echo begun; until [ -e /cache/go ]; do :; done'] };
  await rig.repository('o/r', Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`j${i}`, busy])));
  const runner = rig.runner(['--jobs', '20', '--container-cpus', '0.1', '--container-pids', '100']);
  await runner.says(/ready/);
  const ids = await rig.submit('o/r');
  for (const id of ids) await rig.logHas(id, 'begun');
  await delay(8_000);
  const cache = path.join(rig.root, 'dir', 'cache');
  for (const name of readdirSync(cache))
    if (!name.endsWith('.json')) writeFileSync(path.join(cache, name, 'go'), '');
  for (const id of ids) expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 1 });
});

describe('a runner that cannot see the processes of its containers', () => {
  it('knows what they died of, ends what a step left, and gives a trap its grace', async () => {
    rig = await Rig.start();
    removeLeftAtEnd(rig.cleanup, engine(), path.join(rig.root, 'dir'));
    const { image } = engine();
    await rig.repository('o/r', {
      greedy: { image, steps: ['dd if=/dev/zero of=/dev/null bs=200M count=1'] },
      daemon: {
        image,
        steps: ['(setsid env -i sleep 777 &); echo up', 'ps -o args | grep -c "sleep 77[7]" || true'],
      },
      stopped: {
        image,
        steps: ["trap 'sleep 1; echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.1; done"],
      },
    });
    const hidden = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, bin];
    const runner = rig.runner(['--jobs', '3', '--container-memory', '64M'], {}, hidden);
    await runner.says(/ready/);
    const [greedy = 0, daemon = 0, stopped = 0] = await rig.submit('o/r');
    expect(await rig.ended(greedy)).toMatchObject({ state: 'failed', reason: 'out-of-memory' });
    expect((await rig.run(greedy)).detail).toContain('the limit is 64 MiB');
    expect(await rig.ended(daemon)).toMatchObject({ state: 'passed' });
    expect(await rig.output(daemon)).toBe('up\n0');
    await rig.logHas(stopped, 'up');
    await rig.api('POST', `/api/runs/${stopped}/cancel`);
    expect(await rig.ended(stopped)).toMatchObject({ state: 'cancelled' });
    expect(await rig.output(stopped)).toContain('cleaned');
  });
});
