// A runner with an agents' server, and a process that the server left: says the pids of both, waits.
// Arguments: directory, address of the model's service, `namespaced` (the best it may have) or `plain`.
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { agentMarker } from '../../../src/runner/agent/agent-marker.ts';
import { AgentServer } from '../../../src/runner/agent/agent-server.ts';
import { openDir } from '../../../src/runner/dir/open-dir.ts';
import { ProcessSeats } from '../../../src/runner/dir/process-seats.ts';

const [root = '', url = '', how = ''] = process.argv.slice(2);
const dir = await openDir(root);
const name = `owner-${process.pid}`;
const seats = new ProcessSeats(dir);
seats.take(name);
seats.started(name);
const choice = { model: 'm', variant: null };
const server = new AgentServer({
  dir,
  process: name,
  options: { models: { explore: null, plan: choice, build: choice } },
  service: { url, key: null, context7Key: null },
  path: process.env['PATH'] ?? '',
  searchFile: 'none',
  ...(how === 'namespaced' ? {} : { namespace: 'none' }),
  say: () => {},
  warn: () => {},
});
const answer = await server.access();
if (!answer.ok) throw new Error(answer.why);
const left = spawn('sleep', ['300'], {
  detached: true,
  stdio: 'ignore',
  env: { PATH: process.env['PATH'], VOLE_JOB_MARKER: agentMarker(dir.id, name) },
});
writeSync(1, `${JSON.stringify({ server: answer.access.pid, left: left.pid, url: answer.access.url })}\n`);
setInterval(() => {}, 1000);
