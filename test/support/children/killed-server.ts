// A server that is killed at one of its commits, for tests of what is left. It also does the work of a runner:
// every run passes. Arguments: the data directory, `before`, `after` or `never`, and which commit since it was
// ready. Says `ADDRESS` on its standard output when it is.
import { writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { startServer } from '../../../src/server/server.ts';
import { resolveSettings } from '../../../src/shared/settings/resolve.ts';
import { aClaim, outcome } from '../store-rig.ts';

const [, , data = '', when = 'never', at = '0'] = process.argv;
let ready = false;
let commits = 0;

const prototype = Database.prototype as unknown as {
  prepare: (this: unknown, sql: string) => { run: () => unknown };
};
const { prepare } = prototype;
prototype.prepare = function (this: unknown, sql: string) {
  const statement = prepare.call(this, sql);
  if (sql !== 'commit') return statement;
  const run = statement.run.bind(statement);
  statement.run = () => {
    if (ready) commits += 1;
    const now = commits === Number(at);
    if (now && when === 'before') die();
    const result = run();
    if (now && when === 'after') die();
    return result;
  };
  return statement;
};

/** At once: no other line of this process is executed. */
function die(): void {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

// The ports change from life to life, and links must not.
const flags = { data, http: '127.0.0.1:0', ssh: '127.0.0.1:0', 'public-url': 'https://ci.example' };
const resolved = resolveSettings('server', flags, {}, '/');
if (!resolved.ok) throw new Error(resolved.faults.join('; '));
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const server = await startServer({
  settings: resolved.settings,
  version: '0',
  env: process.env,
  log: silent,
});

let working = false;
let again = false;
async function work(): Promise<void> {
  again = true;
  if (working) return;
  working = true;
  while (again) {
    again = false;
    // With one key, so that a lease which a killed one had is given again.
    const run = await server.store.runs.claim(aClaim({ key: 'the-slot', maxCommands: 32 }));
    if (run === null) continue;
    again = true;
    await server.store.runs.heartbeat('build1', run.run, run.attempt, 60_000);
    await server.store.runs.record('build1', run.run, run.attempt, outcome('passed'), 0);
  }
  working = false;
}
server.queue.onChange(() => void work());
ready = true;
void work();
writeSync(1, `${server.http.url}\n`);
