import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Cleanup } from './temp.ts';

const MANIFEST = /^\/v2\/(.+)\/manifests\/(.+)$/;

/** A registry of images on loopback (Debian: docker-registry), and in front of it who counts and holds. */
export class RegistryRig {
  readonly cleanup = new Cleanup();
  readonly #child: ChildProcess;
  readonly #front: http.Server;
  /** Of every request for what a tag means, which is how a pull begins: `app:1`. */
  readonly asked: string[] = [];
  #held: Promise<void> | null = null;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#front = http.createServer((request, response) => void this.#pass(request, response, port));
    this.cleanup.defer(async () => {
      this.#front.closeAllConnections();
      this.#front.close();
      this.#child.kill('SIGKILL');
      await once(this.#child, 'close');
    });
  }

  static async start(): Promise<RegistryRig> {
    const cleanup = new Cleanup();
    const dir = cleanup.tempDir('vole-registry-');
    const config = path.join(dir, 'config.yml');
    const storage = `storage: {filesystem: {rootdirectory: ${path.join(dir, 'data')}}}`;
    writeFileSync(config, `version: 0.1\n${storage}\nhttp: {addr: "127.0.0.1:0"}\n`);
    const child = spawn('docker-registry', ['serve', config], { stdio: ['ignore', 'ignore', 'pipe'] });
    const port = await listening(child);
    const rig = new RegistryRig(child, port);
    rig.cleanup.defer(() => cleanup.run());
    rig.#front.listen(0, '127.0.0.1');
    await once(rig.#front, 'listening');
    return rig;
  }

  /** `127.0.0.1:PORT/NAME`, as an engine calls it. */
  name(image: string): string {
    return `127.0.0.1:${(this.#front.address() as AddressInfo).port}/${image}`;
  }

  /** What asks for a tag from now on waits; call what it gives to let it go on. */
  hold(): () => void {
    let release = (): void => {};
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  }

  close(): Promise<void> {
    return this.cleanup.run();
  }

  async #pass(request: http.IncomingMessage, response: http.ServerResponse, port: number): Promise<void> {
    const [, name, tag] = MANIFEST.exec(request.url ?? '') ?? [];
    if (name !== undefined && request.method !== 'PUT' && !tag?.startsWith('sha256:')) {
      this.asked.push(`${name}:${tag}`);
      await this.#held;
    }
    const { method, url: where, headers } = request;
    const on = http.request({ host: '127.0.0.1', port, method, path: where, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    on.on('error', () => response.destroy());
    request.pipe(on);
  }
}

/** The port, once it says that it listens. */
async function listening(child: ChildProcess): Promise<number> {
  let said = '';
  return await new Promise((resolve, reject) => {
    child.stderr?.on('data', (bytes: Buffer) => {
      said += bytes.toString();
      const port = /listening on 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`docker-registry ended: ${said}`)));
  });
}
