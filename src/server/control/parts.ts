import type { ForgeClients } from '../forges/clients.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Store } from '../store/store.ts';

/** What the control tasks stand on. */
export interface ControlParts {
  readonly store: Pick<Store, 'runs' | 'tasks' | 'forges' | 'commands' | 'agents'>;
  readonly clients: Pick<ForgeClients, 'for'>;
  readonly secrets: Pick<Secrets, 'secretsFor'>;
  /** Where people reach the pages, without a slash at its end. */
  readonly publicUrl: string;
}

/** Shorter ones would take ordinary words out of every text. */
const SHORTEST_SECRET = 4;

/** Takes the repository's secrets out of a text that everybody will read. */
export async function hiderOf(
  parts: Pick<ControlParts, 'secrets'>,
  repository: string,
): Promise<(text: string) => string> {
  const values = Object.values(await parts.secrets.secretsFor(repository))
    .flatMap((value) => value.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST_SECRET)
    .sort((a, b) => b.length - a.length);
  return (text) => values.reduce((shown, value) => shown.replaceAll(value, '***'), text);
}
