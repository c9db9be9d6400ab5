import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProcessSeats } from '../../../src/runner/dir/process-seats.ts';
import { type SweptEngine, sweep } from '../../../src/runner/sweep/sweep.ts';
import { startContainer } from '../../../src/shared/engine/containers.ts';
import { engineName, labelsOf } from '../../../src/shared/engine/owned.ts';
import type { OwnerIdentity } from '../../../src/shared/owner-record.ts';
import { useEngine } from '../../support/engine-rig.ts';
import { CacheRig, DEAD } from '../../support/runner-dir-rig.ts';
import { Cleanup } from '../../support/temp.ts';

let cleanup: Cleanup;
let rig: CacheRig;
beforeEach(async () => {
  cleanup = new Cleanup();
  rig = await CacheRig.open(path.join(cleanup.tempDir(), 'dir'), cleanup);
});
afterEach(() => cleanup.run());

const dead = (change: Partial<OwnerIdentity> = {}): OwnerIdentity =>
  rig.identity({ ...DEAD, process: '4000000-dead', ...change });

async function sweepAs(process: string, engine: SweptEngine): Promise<readonly string[]> {
  const seat = new ProcessSeats(rig.dir).take(process);
  cleanup.defer(() => seat.release());
  return (await sweep(rig.dir, rig.trash, process, engine)).lines;
}

it('keeps a tree whose container no engine can be asked about, and says so', async () => {
  const identity = dead();
  const name = engineName(identity);
  const tree = rig.leaveTree(identity, [{ what: 'container', engine: 'docker', id: name }]);
  const lines = await sweepAs('one', { facts: null, env: { PATH: '/nonexistent' } });
  expect(lines.join()).toContain('its container cannot be removed: docker is not on this host');
  expect(existsSync(tree)).toBe(true);
});

it('asks no engine about what has another name than its run', async () => {
  const tree = rig.leaveTree(dead(), [{ what: 'container', engine: 'docker', id: 'somebody-elses' }]);
  await sweepAs('one', { facts: null, env: { PATH: '/nonexistent' } });
  expect(existsSync(tree)).toBe(false);
});

describe('containers and networks', () => {
  const engine = useEngine();

  async function make(owner: OwnerIdentity, part: string): Promise<string> {
    const name = engineName(owner, part);
    cleanup.defer(async () => void (await engine().engine.call(['rm', '--force', name])));
    const made = await startContainer(engine().engine, {
      name,
      labels: labelsOf(owner),
      image: engine().image,
      limits: { memoryBytes: null, cpus: null, pids: null },
      user: null,
      mounts: [],
      network: null,
      command: ['/bin/sleep', '600'],
    });
    if (!made.ok) throw new Error(made.failure.why);
    return name;
  }

  it('of dead processes of this directory go, and nobody else’s', async () => {
    const { facts } = engine();
    const living = new ProcessSeats(rig.dir).take('of-a-sibling');
    cleanup.defer(() => living.release());
    const left = await make(dead(), 'left');
    const siblings = await make(rig.identity({ process: 'of-a-sibling' }), 'kept');
    const elsewhere = await make(dead({ directory: `${rig.dir.id}0` }), 'elsewhere');
    const network = engineName(dead(), 'net');
    await engine().call('network', 'create', '--label', `vole.directory=${rig.dir.id}`, network);
    const lines = await sweepAs('one', { facts, env: facts.env });
    const there = await engine().call('ps', '--all', '--format', '{{.Names}}');
    expect(there.split('\n')).toEqual(expect.arrayContaining([siblings, elsewhere]));
    expect(there.split('\n')).not.toContain(left);
    expect(await engine().call('network', 'ls', '--format', '{{.Name}}')).not.toContain(network);
    expect(lines.filter((line) => line.startsWith('removed'))).toEqual([
      `removed container ${left}, whose runner has died`,
      `removed network ${network}, whose runner has died`,
    ]);
  });
});
