import { describe, expect, it } from 'vitest';
import { FakeServer } from '../../../support/fake-network.ts';

describe('a link to a server that welcomes and hangs up at once', () => {
  it('waits longer before each next try', async () => {
    const server = new FakeServer();
    const waits: number[] = [];
    const link = server.link((tries) => {
      waits.push(tries);
      return 0;
    });
    server.onConnect = (session) => session.end({ reason: 'unreachable', why: 'bye' });
    for (let round = 0; round < 5; round++) {
      const session = await link.session();
      await session?.closed;
    }
    await link.close();
    expect(server.connects).toBe(5);
    expect(waits).toEqual([1, 2, 3, 4]);
  });

  it('waits no longer than a part of the lease, in which a run in hand has to be heard of', async () => {
    const server = new FakeServer();
    server.leaseSeconds = 0.04;
    const link = server.link(() => 3_600_000);
    server.onConnect = (session) => session.end({ reason: 'unreachable', why: 'bye' });
    await (await link.session())?.closed;
    expect(await link.session()).not.toBeNull();
    expect(server.connects).toBe(2);
    await link.close();
  });

  it('gives up its wait when it is closed', async () => {
    const server = new FakeServer();
    const link = server.link(() => 3_600_000);
    server.onConnect = (session) => session.end({ reason: 'unreachable', why: 'bye' });
    await (await link.session())?.closed;
    const next = link.session();
    await link.close();
    expect(await next).toBeNull();
    expect(server.connects).toBe(1);
  });
});
