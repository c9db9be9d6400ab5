import { LIMITS } from '../../shared/protocol/messages.ts';

/** What the endpoint allows; tests lower some of them. */
export interface EndpointLimits {
  /** From the TCP connection to a `hello`: silent sockets go away. */
  readonly handshakeMs: number;
  /** Connections that have not been welcomed, in all and of one address: they cost a key exchange each. */
  readonly unwelcomed: number;
  readonly unwelcomedOfAddress: number;
  readonly authTries: number;
  /** Unread bytes of a channel: ssh2 does not hold a peer to its window, so we do. */
  readonly unreadBytes: number;
  /** Bytes that the peer does not take: ssh2 answers its pings and requests whether it reads or not. */
  readonly unsentBytes: number;
  readonly keepaliveMs: number;
  readonly keepaliveCount: number;
  /** Between two pieces of one message. */
  readonly stallMs: number;
  /** How long a peer that was told to go may take to go. */
  readonly lingerMs: number;
  readonly lineBytes: number;
  readonly frameBytes: number;
}

/** ssh2 opens a window of 2 MiB anew until as much is unread, so a peer that keeps to it may fill two. */
const WINDOWS_BYTES = 2 * 2 * 1024 * 1024;

/**
 * A host with the most slots there are, 256, may connect all of them at once. Past the caps a
 * connection is dropped, and a runner tries it again.
 */
export const ENDPOINT_LIMITS: EndpointLimits = {
  handshakeMs: 10_000,
  unwelcomed: 512,
  unwelcomedOfAddress: 256,
  authTries: 3,
  unreadBytes: WINDOWS_BYTES + 64 * 1024,
  // The longest line, and what a conversation may leave unsent besides.
  unsentBytes: LIMITS.lineBytes + 8 * 1024 * 1024,
  keepaliveMs: 15_000,
  keepaliveCount: 3,
  stallMs: 30_000,
  lingerMs: 1_000,
  lineBytes: LIMITS.lineBytes,
  frameBytes: LIMITS.frameBytes,
};
