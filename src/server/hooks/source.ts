import type { ForgeKind } from '../../shared/api-forge.ts';
import type { ForgeSettings } from '../forges/settings.ts';
import type { Store } from '../store/store.ts';

/** What is known of a repository whose deliveries are taken. */
export interface HookSource {
  readonly forge: ForgeKind;
  /** `owner/name` as the forge has it. */
  readonly project: string;
  readonly secret: Uint8Array;
  /** Vole's own login there, where it is known. */
  readonly botLogin: string | null;
}

/** Null where the repository is not registered, or with no forge. */
export async function hookSourceOf(
  repository: string,
  store: Pick<Store, 'forges'>,
  settings: Pick<ForgeSettings, 'webhookSecret'>,
): Promise<HookSource | null> {
  const forge = await store.forges.get(repository);
  const secret = forge === null ? null : await settings.webhookSecret(repository);
  if (forge === null || secret === null) return null;
  return { forge: forge.kind, project: forge.project, secret, botLogin: forge.botLogin };
}
