import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PartFile } from '../../../../src/cli/client/part-file.ts';
import { type SaveHow, saveStream } from '../../../../src/cli/client/save-stream.ts';
import type { CliContext } from '../../../../src/cli/context.ts';
import { recordedContext } from '../../../support/cli-context.ts';
import { Cleanup } from '../../../support/temp.ts';

let cleanup: Cleanup;
let folder: string;
let target: string;
beforeEach(() => {
  cleanup = new Cleanup();
  folder = cleanup.tempDir('vole-save-');
  target = path.join(folder, 'dist.tar.gz');
});
afterEach(() => cleanup.run());

/** What a real server sends, as the reply that a command gets. */
async function reply(send: (reply: http.ServerResponse) => void): Promise<http.IncomingMessage> {
  const server = http.createServer((_, answer) => send(answer));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  cleanup.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return await new Promise((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', agent: false }, resolve).once('error', reject);
  });
}

/** A context whose signals the test sends. */
function interruptible(write?: CliContext['write']): { context: CliContext; interrupt: () => void } {
  const listeners = new Set<() => void>();
  const context: CliContext = {
    ...recordedContext(),
    onSignal: (signal, listener) => {
      if (signal === 'SIGINT') listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ...(write ? { write } : {}),
  };
  return { context, interrupt: () => listeners.forEach((listener) => listener()) };
}

async function save(text: string, how: Partial<SaveHow> = {}, context: CliContext = recordedContext()) {
  const body = await reply((answer) => answer.end(text));
  const file = { file: 'dist.tar.gz', bytes: text.length };
  await saveStream(body, file, { target, isForced: false, json: false, ...how }, context);
}

describe('an interrupted download', () => {
  it('leaves nothing where its file is being opened just then', async () => {
    const { context, interrupt } = interruptible();
    const body = await reply((answer) => void answer.write('some'));
    const file = { file: 'dist.tar.gz', bytes: 100 };
    const saved = saveStream(body, file, { target, isForced: false, json: false }, context);
    interrupt();
    await expect(saved).rejects.toMatchObject({
      code: 'interrupted',
      message: expect.stringMatching(/ 0 of 100 bytes .*; nothing is kept$/),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves nothing in the middle, and ends its request', async () => {
    const { context, interrupt } = interruptible();
    let closed = false;
    const body = await reply((answer) => {
      answer.write('some');
      answer.once('close', () => (closed = true));
    });
    const file = { file: 'dist.tar.gz', bytes: 100 };
    const saved = saveStream(body, file, { target, isForced: false, json: false }, context);
    await expect.poll(() => readdirSync(folder)).toHaveLength(1);
    await delay(50);
    interrupt();
    await expect(saved).rejects.toMatchObject({ code: 'interrupted' });
    expect(readdirSync(folder)).toEqual([]);
    await expect.poll(() => closed).toBe(true);
  });

  it('does not wait for a reader of standard output that stands still', async () => {
    const taken = new Promise<void>(() => {});
    let asked = false;
    const { context, interrupt } = interruptible(() => {
      asked = true;
      return taken;
    });
    const body = await reply((answer) => void answer.write('some'));
    const file = { file: 'dist.tar.gz', bytes: 100 };
    const saved = saveStream(body, file, { target: null, isForced: false, json: false }, context);
    await expect.poll(() => asked).toBe(true);
    interrupt();
    await expect(saved).rejects.toMatchObject({ code: 'interrupted' });
    expect(context.leavesOutput).toBe(true);
  });
});

describe('the part file', () => {
  it('has a name of its own, so that files of the same pid are left alone', async () => {
    const others = `${target}.part-${process.pid}`;
    writeFileSync(others, 'of another container');
    await save('whole');
    expect(readFileSync(target, 'utf8')).toBe('whole');
    expect(readFileSync(others, 'utf8')).toBe('of another container');
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it('is placed over nothing: of two at once one is told that the file is there', async () => {
    const ends = await Promise.allSettled([save('first'), save('other')]);
    const refused = ends.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([
      { reason: { code: 'io-error', message: expect.stringMatching(/is there already.*--force/) } },
    ]);
    const winner = ends[0]?.status === 'fulfilled' ? 'first' : 'other';
    expect(readFileSync(target, 'utf8')).toBe(winner);
    expect(readdirSync(folder)).toEqual(['dist.tar.gz']);
    await save('forced', { isForced: true });
    expect(readFileSync(target, 'utf8')).toBe('forced');
  });

  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'])('is placed without hard links (%s)', async (code) => {
    const noLinks = async () => {
      throw Object.assign(new Error(`${code}: link`), { code, syscall: 'link' });
    };
    const part = await PartFile.open(target);
    await part.write(Buffer.from('whole'));
    await part.place(false, noLinks);
    expect(readFileSync(target, 'utf8')).toBe('whole');

    const second = await PartFile.open(target);
    await expect(second.place(false, noLinks)).rejects.toThrow(/is there already/);
    expect(await second.discard()).toBeNull();
    expect(readFileSync(target, 'utf8')).toBe('whole');
    expect(readdirSync(folder)).toEqual(['dist.tar.gz']);
  });

  it('is removed where it cannot be placed, and the fault is the one that is told', async () => {
    mkdirSync(target);
    await expect(save('whole', { isForced: true })).rejects.toMatchObject({
      code: 'io-error',
      message: expect.stringContaining(target),
    });
    expect(readdirSync(folder)).toEqual(['dist.tar.gz']);
  });
});

describe('a connection on which nothing comes', () => {
  it('fails in one line, whether or not something came before', async () => {
    for (const first of ['', 'some']) {
      const body = await reply((answer) => {
        answer.flushHeaders();
        if (first) answer.write(first);
      });
      const how = { target, isForced: false, json: false, stallMs: 200 };
      const saved = saveStream(body, { file: 'dist.tar.gz', bytes: 100 }, how, recordedContext());
      await expect(saved).rejects.toMatchObject({
        code: 'server-unreachable',
        message: 'dist.tar.gz did not come whole: nothing came for 0.2 s; nothing is kept',
      });
    }
    expect(existsSync(target)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not taken for one while a slow reader is waited for', async () => {
    const { context } = interruptible(() => delay(400));
    const body = await reply((answer) => {
      answer.write('some');
      setTimeout(() => answer.end('more'), 300);
    });
    const how = { target: null, isForced: false, json: false, stallMs: 200 };
    await saveStream(body, { file: 'dist.tar.gz', bytes: 8 }, how, context);
  });
});
