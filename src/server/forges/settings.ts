import { randomBytes } from 'node:crypto';
import type { Secrets } from '../secrets/secrets.ts';
import type { Forge, ForgeStore } from '../store/control.ts';

/** No secret of a job can have this name, so neither opens in the other's place. */
const SECRET_NAME = 'webhook-secret';

/** Where repositories live, and the secrets that their webhooks are signed with: 64 hex digits, made here. */
export class ForgeSettings {
  readonly #forges: ForgeStore;
  readonly #secrets: Pick<Secrets, 'sealFor' | 'openOf'>;

  constructor(forges: ForgeStore, secrets: Pick<Secrets, 'sealFor' | 'openOf'>) {
    this.#forges = forges;
    this.#secrets = secrets;
  }

  /** Keeps the secret that it has, unless a new one is wanted. Gives the secret. */
  async set(forge: Forge, newSecret = false): Promise<string> {
    const before = newSecret ? null : await this.webhookSecret(forge.repository);
    const secret = before ?? Buffer.from(randomBytes(32).toString('hex'));
    await this.#forges.set(forge, await this.#secrets.sealFor(forge.repository, SECRET_NAME, secret));
    return secret.toString();
  }

  /** Null where the repository has no forge. Throws `VoleError` where it does not open. */
  async webhookSecret(repository: string): Promise<Buffer | null> {
    const sealed = await this.#forges.sealedSecret(repository);
    return sealed === null ? null : this.#secrets.openOf(repository, SECRET_NAME, sealed);
  }
}
