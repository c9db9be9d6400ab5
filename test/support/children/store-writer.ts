// Works on a store without pause and says each transition on its standard output once it was acknowledged,
// until it is killed. Arguments: the database file.
import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../../src/server/store/open.ts';
import { aClaim, newPipeline, newRun, outcome } from '../store-rig.ts';

const store = await openSqliteStore(process.argv[2] ?? '');

/** Not by the stream, which would still hold lines when the process is killed. */
function say(run: number, state: string): void {
  writeSync(1, `${run} ${state}\n`);
}

async function slot(account: string): Promise<void> {
  for (;;) {
    const { runs } = await store.runs.createPipeline(
      newPipeline([newRun({ key: 'a' }), newRun({ key: 'b', needs: ['a'], serial: 'k' })]),
    );
    for (const run of runs) say(run, 'queued');
    const claimed = await store.runs.claim(aClaim({ account, session: account }));
    if (claimed === null) continue;
    say(claimed.run, 'running');
    await store.runs.record(account, claimed.run, claimed.attempt, outcome('passed'), 1);
    say(claimed.run, 'passed');
  }
}

await Promise.all(['a', 'b', 'c', 'd'].map((account) => slot(account)));
