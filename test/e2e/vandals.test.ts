import { afterEach, expect, it } from 'vitest';
import { processesWithEnv } from '../../src/shared/platform/processes.ts';
import { Rig } from '../support/e2e-rig.ts';
import { until } from '../support/until.ts';

let rig: Rig;
afterEach(() => rig.close());

const ours = () => processesWithEnv('RIG', rig.root);
const tree = '$(dirname "$VOLE_WORKSPACE")';

/** A runner that is killed while its job, which did this first, goes on; gives the run's id. */
async function killedAfter(script: string): Promise<number> {
  rig = await Rig.start(['--lease-time', '3']);
  await rig.repository('o/r', {
    a: {
      env: { RIG: rig.root },
      steps: [`[ $VOLE_ATTEMPT = 2 ] && exit 0; ${script}; echo begun; setsid sleep 998 & sleep 999`],
    },
  });
  const [id = 0] = await rig.submit('o/r');
  const runner = rig.runner();
  await rig.logHas(id, 'begun');
  runner.kill('SIGKILL');
  await runner.ended;
  rig.cleanup.defer(() => {
    for (const { pid } of ours()) process.kill(pid, 'SIGKILL');
  });
  expect(ours().length).toBeGreaterThan(0);
  return id;
}

it.each([
  ['removed its owner record', `rm "${tree}/owner.jsonl"`],
  ['removed its tree', `cd /; rm -rf "${tree}"`],
  ['put a FIFO in place of its owner record', `rm "${tree}/owner.jsonl"; mkfifo "${tree}/owner.jsonl"`],
  ['put a FIFO in place of its log', `rm "${tree}/log"; mkfifo "${tree}/log"`],
])('a job that %s ends with the next start after its runner was killed', async (_, script) => {
  const id = await killedAfter(script);
  await rig.runner().says(/ready/);
  await until('the end of its processes', () => ours().length === 0);
  expect(await rig.ended(id)).toMatchObject({ state: 'passed', attempt: 2 });
});
