import { afterEach, beforeEach, expect, it } from 'vitest';
import { ModelProxy } from '../../../src/runner/agent/model-proxy.ts';
import { ModelServer } from '../../support/model-server.ts';
import { Cleanup } from '../../support/temp.ts';

const KEY = 'sk-of-the-service';

let cleanup: Cleanup;
let model: ModelServer;
let proxy: ModelProxy;
beforeEach(async () => {
  cleanup = new Cleanup();
  model = await ModelServer.start();
  cleanup.defer(() => model.close());
  proxy = await ModelProxy.start({ url: model.url, key: KEY });
  cleanup.defer(() => proxy.close());
});
afterEach(() => cleanup.run());

async function ask(url: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
  const body = JSON.stringify({ model: 'm', messages: [] });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer none', cookie: 'a=b' };
  const response = await fetch(url, { method: 'POST', body, headers, ...init });
  return { status: response.status, text: await response.text() };
}

it('asks with the service’s key in place of whatever was sent, and passes nothing else on', async () => {
  model.answer({ say: 'hello' });
  const { status, text } = await ask(`${proxy.url}/chat/completions`);
  expect([status, JSON.parse(text).choices[0].message.content]).toEqual([200, 'hello']);
  const [asked] = model.asked;
  expect(asked?.path).toBe('/v1/chat/completions');
  expect(asked?.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
  expect(asked?.headers.cookie).toBeUndefined();
});

it('passes an answer on as it comes, and gives up what its client gives up', async () => {
  model.answer({ hang: 'after-headers' });
  const abort = new AbortController();
  const response = await fetch(`${proxy.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', stream: true }),
    signal: abort.signal,
  });
  const first = await response.body?.getReader().read();
  expect(Buffer.from(first?.value ?? []).toString()).toContain('"role":"assistant"');
  abort.abort();
  await model.givenUp(1);
});

it('has nothing for who does not know its token, nor at any other address of the service', async () => {
  const { origin, pathname } = new URL(proxy.url);
  const wrong = `${origin}/${pathname.slice(1).replaceAll(/./g, '0')}`;
  for (const url of [
    `${origin}/chat/completions`,
    `${wrong}/chat/completions`,
    `${proxy.url}/files`,
    origin,
  ]) {
    expect((await ask(url)).status).toBe(404);
  }
  expect((await ask(`${proxy.url}/chat/completions`, { method: 'GET', body: null })).status).toBe(404);
  expect(model.asked).toEqual([]);
});

it('passes errors on with their status and what they say of trying again, without the key', async () => {
  const body = JSON.stringify({ error: { message: `${KEY} is over its quota` } });
  model.answer({ status: 429, body, headers: { 'retry-after': '7' } });
  const response = await fetch(`${proxy.url}/chat/completions`, { method: 'POST', body: '{}' });
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
  expect(await response.json()).toEqual({ error: { message: '*** is over its quota' } });
});

it('answers 502 and says why where the service cannot be reached', async () => {
  await model.close();
  const { status, text } = await ask(`${proxy.url}/chat/completions`);
  expect(status).toBe(502);
  expect(text).toMatch(/the model's service cannot be reached: .*ECONNREFUSED/);
  const { url } = proxy;
  await proxy.close();
  await expect(fetch(url)).rejects.toThrow();
});
