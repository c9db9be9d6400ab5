import type { GuardMode } from '../worker-messages.ts';

export interface HeldGuard {
  readonly name: string;
  readonly mode: GuardMode;
  /** Synchronous and idempotent. */
  release(): void;
}
