import net from 'node:net';
import ssh2, { type ClientChannel, type ConnectConfig } from 'ssh2';
import type { Endpoint } from '../../src/runner/session/session.ts';
import type { Cleanup } from './temp.ts';

/** An SSH client that may say anything: what a peer could be that is no runner of ours. */
export class RawPeer {
  readonly client = new ssh2.Client();
  readonly socket: net.Socket;
  readonly errors: Error[] = [];
  /** Resolves when the TCP connection has closed. */
  readonly closed: Promise<void>;
  text = '';

  constructor(cleanup: Cleanup, endpoint: Endpoint, config: ConnectConfig = {}) {
    this.socket = net.connect({ host: endpoint.host, port: endpoint.port, noDelay: true });
    this.socket.on('error', (error) => this.errors.push(error));
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    cleanup.defer(() => void this.socket.destroy());
    this.client.on('error', (error) => this.errors.push(error));
    this.client.connect({
      sock: this.socket,
      username: endpoint.account,
      privateKey: endpoint.privateKey,
      authHandler: ['publickey'],
      ...config,
    });
  }

  /** Resolves with whether the server let it in. */
  async ready(): Promise<boolean> {
    return await Promise.race([
      new Promise<boolean>((resolve) => this.client.once('ready', () => resolve(true))),
      this.closed.then(() => false),
    ]);
  }

  /** Null where the server would not open it. */
  async exec(command = 'vole-runner'): Promise<ClientChannel | null> {
    return await Promise.race([
      new Promise<ClientChannel | null>((resolve) =>
        this.client.exec(command, (error, channel) => {
          if (error) return resolve(null);
          channel.on('error', () => {});
          channel.on('data', (chunk: Buffer) => (this.text += chunk.toString()));
          channel.stderr.resume();
          resolve(channel);
        }),
      ),
      this.closed.then(() => null),
    ]);
  }

  /** What the server has said so far. */
  get messages(): { type: string; why?: string }[] {
    return this.text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { type: string });
  }
}
