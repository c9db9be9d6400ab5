import net from 'node:net';
import type { Cleanup } from './temp.ts';

type Mode =
  /** Passes everything. */
  | 'pass'
  /** Takes bytes and passes none, in either direction, as a network that is gone does. */
  | 'black-hole'
  /** What comes from the server is thrown away. */
  | 'drop-replies'
  /** What comes from the server is kept until `release`. */
  | 'hold-replies';

/** A TCP proxy on loopback that can cut connections, drop what they say, and swallow them. */
export class Proxy {
  mode: Mode = 'pass';
  #server: net.Server;
  #held: (() => void)[] = [];
  readonly #pairs = new Set<{ client: net.Socket; upstream: net.Socket }>();
  /** Bytes that came from the server since it was last set. */
  fromServer = 0;
  /** Bytes of the runner that went into the black hole. */
  swallowed = 0;
  /** Whether the server spoke last: what was asked has its reply, where one thing is asked at a time. */
  answered = false;

  private constructor(server: net.Server) {
    this.#server = server;
  }

  static async start(cleanup: Cleanup, port: number): Promise<Proxy> {
    const server = net.createServer({ noDelay: true });
    const proxy = new Proxy(server);
    server.on('connection', (client) => proxy.#join(client, port));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanup.defer(async () => {
      proxy.cut();
      await new Promise((resolve) => server.close(resolve));
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Whether anything is held. */
  get holds(): boolean {
    return this.#held.length > 0;
  }

  /** Passes on what was held, and everything from now on. */
  release(): void {
    this.mode = 'pass';
    for (const pass of this.#held.splice(0)) pass();
  }

  /** Breaks all connections, on both sides. */
  cut(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  /** Breaks the runner's side alone: the server is left with a half-open connection. */
  cutRunner(): void {
    for (const { client } of this.#pairs) client.destroy();
  }

  #join(client: net.Socket, port: number): void {
    const upstream = net.connect({ host: '127.0.0.1', port, noDelay: true });
    const pair = { client, upstream };
    this.#pairs.add(pair);
    client.on('error', () => {});
    upstream.on('error', () => {});
    client.on('data', (chunk) => {
      this.answered = false;
      if (this.mode === 'black-hole') this.swallowed += chunk.length;
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      this.fromServer += chunk.length;
      this.answered = true;
      if (this.mode === 'pass') client.write(chunk);
      else if (this.mode === 'hold-replies') this.#held.push(() => client.write(chunk));
    });
    client.on('close', () => {
      if (this.mode === 'pass') upstream.destroy();
      if (upstream.destroyed) this.#pairs.delete(pair);
    });
    upstream.on('close', () => {
      if (this.mode === 'pass') client.destroy();
      if (client.destroyed) this.#pairs.delete(pair);
    });
  }
}
