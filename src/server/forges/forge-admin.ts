import type { z } from 'zod';
import type { ApiWebhook, forgeBodySchema } from '../../shared/api-forge.ts';
import { VoleError } from '../../shared/errors.ts';
import type { Forge, ForgeStore } from '../store/control.ts';
import type { ForgeClients } from './clients.ts';
import { apiUrlOf } from './dialects.ts';
import type { ForgeFailure } from './reply.ts';
import type { ForgeSettings } from './settings.ts';

interface Parts {
  readonly forges: ForgeStore;
  readonly settings: ForgeSettings;
  readonly clients: Pick<ForgeClients, 'of'>;
  /** Without a slash at its end; empty where it is not known. */
  readonly publicUrl: () => string;
}

/** What administrators do about the forge of a repository. Every method throws `VoleError`. */
export class ForgeAdmin {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The settings as they are to be kept. Asks the forge, unless told not to; changes nothing. */
  async checked(repository: string, body: z.output<typeof forgeBodySchema>): Promise<Forge> {
    const { kind, tokenFile, project = repository } = body;
    const forge = { repository, kind, project, apiUrl: apiUrlOf(kind, body.url), tokenFile, botLogin: null };
    if (!body.check) return forge;
    const rights = await this.#parts.clients.of(forge).rights();
    if (!rights.ok) throw refused(forge, rights);
    const { login, missing } = rights.value;
    if (missing.length === 0) return { ...forge, botLogin: login };
    throw new VoleError('forge-refused', `${project} on ${forge.apiUrl}: ${missing.join('; ')}`);
  }

  /** Keeps the webhook's secret that the repository has, if any. */
  async set(forge: Forge): Promise<ApiWebhook> {
    await this.#parts.settings.set(forge);
    return this.webhook(forge.repository);
  }

  async remove(repository: string): Promise<void> {
    await this.#parts.forges.remove(repository);
  }

  /** Where the forge is to send its events, and what it signs them with; a new secret where asked for. */
  async webhook(repository: string, newSecret = false): Promise<ApiWebhook> {
    const forge = await this.#parts.forges.get(repository);
    if (forge === null) {
      const how = `give it one with \`vole repo set ${repository} --forge ...\``;
      throw new VoleError('not-found', `repository ${repository} has no forge: ${how}`);
    }
    if (newSecret) await this.#parts.settings.set(forge, true);
    const secret = await this.#parts.settings.webhookSecret(repository);
    const url = `${this.#parts.publicUrl()}/hooks/${forge.kind}/${repository}`;
    return { url, secret: secret?.toString() ?? '' };
  }
}

function refused(forge: Forge, failure: ForgeFailure): VoleError {
  const known = failure.status === 401 || failure.status === 403;
  const code = failure.status === null ? 'server-unreachable' : 'forge-refused';
  const what = known ? 'the forge refuses the token' : 'the forge cannot be asked';
  return new VoleError(code, `${what} (${forge.apiUrl}): ${failure.why}`);
}
