import { spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The bare repositories below `root` over git's own CGI program, as a forge serves them; `user` may push. The
 * caller ends the answer.
 */
export async function serveGit(
  root: string,
  path: string,
  query: string,
  user: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      ...(user === '' ? {} : { REMOTE_USER: user }),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  backend.stdin.on('error', () => {});
  request.pipe(backend.stdin);
  let head: Buffer | null = Buffer.alloc(0);
  for await (const part of backend.stdout as AsyncIterable<Buffer>) {
    if (head === null) {
      response.write(part);
      continue;
    }
    head = Buffer.concat([head, part]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) continue;
    writeHead(response, head.toString('latin1', 0, end));
    response.write(head.subarray(end + 4));
    head = null;
  }
  if (head !== null) response.writeHead(500);
}

function writeHead(response: ServerResponse, text: string): void {
  let status = 200;
  const headers: Record<string, string> = {};
  for (const line of text.split('\r\n')) {
    const [name = '', value = ''] = line.split(/:\s*/, 2);
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else headers[name] = value;
  }
  response.writeHead(status, headers);
}
