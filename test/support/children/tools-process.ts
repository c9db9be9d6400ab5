// A process that has install scripts run in two threads at once. Arguments: the folder that it shares, the
// folder of scripts, names of scripts. Says the result of each run.
import { writeSync } from 'node:fs';
import { ToolsRig } from '../tools-rig.ts';

const [shared = '', scripts = '', ...names] = process.argv.slice(2);
const rig = new ToolsRig({ threads: 2, shared, scripts });
const runs = await Promise.all([rig.run(names), rig.run(names)]);
for (const { outcome } of runs) writeSync(1, `${outcome.result} ${outcome.detail}\n`);
await rig.close();
