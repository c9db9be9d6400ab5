import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunningServer, type ServerOptions, startServer } from '../../src/server/server.ts';
import { Cleanup } from '../support/temp.ts';

let cleanup: Cleanup;
let data: string;

const log: ServerOptions['log'] = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const free = { host: '127.0.0.1', port: 0 };

async function start(change: Partial<ServerOptions['settings']> = {}): Promise<RunningServer> {
  const settings = {
    data,
    http: free,
    ssh: free,
    sshMaxConnections: 100,
    sshMaxConnectionsPerAccount: 50,
    leaseTime: 300_000,
    maxConcurrentCommands: 2,
    keepRoomAfter: 600_000,
    publicUrl: null,
    commandWord: 'agent',
    agent: false,
    ...change,
  };
  const server = await startServer({ settings, version: '0.0.0', log });
  cleanup.defer(() => server.close());
  return server;
}

beforeEach(() => {
  cleanup = new Cleanup();
  data = path.join(cleanup.tempDir('vole-web-server-'), 'data');
});
afterEach(() => cleanup.run());

describe('a server in this process', () => {
  it('serves both addresses, and says where in its data directory', async () => {
    const server = await start();
    expect(await (await fetch(`${server.http.url}/healthz`)).json()).toEqual({ ok: true });
    const file = JSON.parse(readFileSync(path.join(data, 'server.json'), 'utf8'));
    expect(file).toEqual({
      http: server.http.url,
      ssh: `127.0.0.1:${server.ssh.port}`,
      token: server.token,
      fingerprint: server.fingerprint,
      pid: process.pid,
    });
    expect(statSync(path.join(data, 'server.json')).mode & 0o777).toBe(0o600);
    expect(statSync(data).mode & 0o777).toBe(0o700);
    const greeting = await new Promise<string>((resolve, reject) => {
      const socket = net.connect(server.ssh.port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('data', (bytes) => {
        socket.destroy();
        resolve(bytes.toString());
      });
    });
    expect(greeting).toMatch(/^SSH-2\.0-/);
  });

  it('closes once, takes its address away, and leaves the directory to the next one', async () => {
    const first = await start();
    await Promise.all([first.close(), first.close()]);
    await first.close();
    expect(existsSync(path.join(data, 'server.json'))).toBe(false);
    await expect(fetch(`${first.http.url}/healthz`)).rejects.toThrow();
    const second = await start();
    expect([second.token, second.serverId, second.fingerprint]).toEqual([
      first.token,
      first.serverId,
      first.fingerprint,
    ]);
    expect(second.serverId).toMatch(/^[0-9a-f]{8}$/);
  });

  it('is the only one on its data directory', async () => {
    const first = await start();
    await expect(start()).rejects.toMatchObject({ code: 'lock-held' });
    expect((await fetch(`${first.http.url}/healthz`)).status).toBe(200);
    expect(existsSync(path.join(data, 'server.json'))).toBe(true);
  });

  it('that cannot listen leaves nothing behind', async () => {
    const other = net.createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    cleanup.defer(() => void other.close());
    const { port } = other.address() as net.AddressInfo;
    const taken = { host: '127.0.0.1', port };
    await expect(start({ http: taken })).rejects.toMatchObject({
      code: 'lock-held',
      message: expect.stringContaining('--http'),
    });
    await expect(start({ ssh: taken })).rejects.toMatchObject({
      code: 'lock-held',
      message: expect.stringContaining('--ssh'),
    });
    expect(existsSync(path.join(data, 'server.json'))).toBe(false);
    await start();
  });

  it('refuses a directory of a newer format, or a damaged one, and leaves it as it is', async () => {
    await (await start()).close();
    const format = path.join(data, 'format.json');
    for (const [text, why] of [
      ['{"version":2,"server":"0123abcd"}', 'has format 2'],
      ['{"version":', 'is damaged'],
    ] as const) {
      writeFileSync(format, text);
      await expect(start()).rejects.toMatchObject({
        code: 'io-error',
        message: expect.stringContaining(why),
      });
      expect(readFileSync(format, 'utf8')).toBe(text);
    }
  });

  it('adds no handler to its process', async () => {
    const names = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection', 'exit'] as const;
    const before = names.map((name) => process.listenerCount(name));
    await start();
    expect(names.map((name) => process.listenerCount(name))).toEqual(before);
  });
});
