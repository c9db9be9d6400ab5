import { PROTOCOL_VERSION } from '../../shared/protocol/messages.ts';
import { agreeOnVersion } from '../../shared/protocol/versions.ts';
import type { Connect, Connected, Disconnect } from './session.ts';
import { SshSession } from './ssh-session.ts';
import { TRANSPORT_TIMES, Transport, type TransportTimes } from './transport.ts';

export interface ConnectorOptions {
  /** Another version than this build's, for tests. */
  readonly protocol?: number;
  readonly times?: Partial<TransportTimes>;
}

/** Connects one slot: TCP, host key, authentication, channel, `hello`. */
export function connector(options: ConnectorOptions = {}): Connect {
  const protocol = options.protocol ?? PROTOCOL_VERSION;
  const times = { ...TRANSPORT_TIMES, ...options.times };
  return async (endpoint, hello, { signal }): Promise<Connected> => {
    const closed: Disconnect = { reason: 'closed', why: 'told to stop' };
    if (signal.aborted) return { ok: false, disconnect: closed };
    const transport = new Transport(endpoint, times);
    const stop = () => transport.end(closed);
    signal.addEventListener('abort', stop, { once: true });
    try {
      const session = new SshSession(transport);
      if (!(await transport.open(session.receive))) return { ok: false, disconnect: await transport.closed };
      const refused = await session.greet({ type: 'hello', protocol, ...hello });
      if (refused) {
        transport.end(refused);
        await transport.closed;
        return { ok: false, disconnect: refused };
      }
      const version = agreeOnVersion(protocol, session.welcome.protocol);
      if (version.ok) return { ok: true, session };
      const why = `the server speaks protocol ${session.welcome.protocol}, this runner ${protocol}`;
      transport.end({ reason: 'refused', code: 'protocol', why });
      return { ok: false, disconnect: await transport.closed };
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

export const connect: Connect = connector();
