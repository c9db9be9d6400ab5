import { readFileSync } from 'node:fs';

const LISTEN = '0A';
const LOOPBACK_V6 = '00000000000000000000000001000000';

/**
 * TCP ports on which something listens for others, in the text of `/proc/net/tcp` and `/proc/net/tcp6`.
 * What listens on the loopback alone does not count: databases do so while they are being set up.
 */
export function listeningPortsIn(text: string): Set<number> {
  const ports = new Set<number>();
  for (const line of text.split('\n')) {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const [address = '', port = ''] = local.split(':');
    // Words are in the order of the host's bytes: the first octet is the last one of a word.
    const loopback = address === LOOPBACK_V6 || /^(0{16}FFFF0000|0{16}0000FFFF)?[0-9A-F]{6}7F$/.test(address);
    if (state === LISTEN && !loopback) ports.add(Number.parseInt(port, 16));
  }
  return ports;
}

/** The same for the network namespace of a process of this host; null where it is gone or not to be seen. */
export function listeningPorts(pid: number): Set<number> | null {
  try {
    const v4 = readFileSync(`/proc/${pid}/net/tcp`, 'latin1');
    return listeningPortsIn(v4 + tcp6(pid));
  } catch {
    return null;
  }
}

/** Not there where the host has no IPv6. */
function tcp6(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/net/tcp6`, 'latin1');
  } catch {
    return '';
  }
}
