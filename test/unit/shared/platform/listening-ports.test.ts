import { describe, expect, it } from 'vitest';
import { listeningPortsIn } from '../../../../src/shared/platform/listening-ports.ts';

const line = (address: string, port: string, state: string): string =>
  `   0: ${address}:${port} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  0  0 1 1`;

describe('the ports of a network namespace', () => {
  it.each([
    ['any address', '00000000', true],
    ['an address of its own', '020013AC', true],
    ['loopback', '0100007F', false],
    ["another loopback, such as the engine's resolver", '0B00007F', false],
    ['any v6 address', '0'.repeat(32), true],
    ['the v6 loopback', `${'0'.repeat(24)}01000000`, false],
    ['loopback in v6 words', '0000000000000000FFFF00000100007F', false],
    ['an address in v6 words', '0000000000000000FFFF0000020013AC', true],
  ])('are those with a listener for others: %s', (_name, address, counts) => {
    const text = `  sl  local_address rem_address   st\n${line(address, '1538', '0A')}\n`;
    expect([...listeningPortsIn(text)]).toEqual(counts ? [5432] : []);
  });

  it('are not those of connections', () => {
    expect(listeningPortsIn(line('00000000', '1538', '01')).size).toBe(0);
  });
});
