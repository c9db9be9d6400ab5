import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { ApiClient, json } from '../../../../src/cli/client/api-client.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
beforeEach(() => {
  cleanup = new Cleanup();
});
afterEach(() => cleanup.run());

it('a server that takes connections and never replies is given up, reading before doing', async () => {
  const server = createServer((socket) => {
    cleanup.defer(() => void socket.destroy());
    socket.resume();
  });
  cleanup.defer(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new ApiClient(async () => ({ url, token: null }), { get: 30, other: 60_000 });
  await expect(client.get('/api/runs', z.unknown())).rejects.toMatchObject({
    code: 'server-unreachable',
    message: `no server answers at ${url}: connected, and no reply within 0.03 s`,
  });
  const patient = new ApiClient(async () => ({ url, token: null }), { get: 60_000, other: 30 });
  await expect(patient.send('POST', '/x', json({}), z.unknown())).rejects.toMatchObject({
    code: 'server-unreachable',
  });
});
