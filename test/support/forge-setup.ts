import { DataDir } from '../../src/server/data-dir.ts';
import { ForgeSettings } from '../../src/server/forges/settings.ts';
import { openData } from '../../src/server/open-data.ts';
import type { ForgeKind } from '../../src/shared/api-forge.ts';

/** Says in a data directory that no server runs on where a repository lives; gives the webhook's secret. */
export async function setForge(
  dataDir: string,
  repository: string,
  kind: ForgeKind = 'gitea',
  api: { apiUrl: string; tokenFile: string } = { apiUrl: 'http://127.0.0.1:9', tokenFile: '/nowhere' },
): Promise<string> {
  const data = await openData(new DataDir(dataDir));
  try {
    return await new ForgeSettings(data.store.forges, data.secrets).set({
      repository,
      kind,
      project: repository,
      ...api,
      botLogin: 'vole-bot',
    });
  } finally {
    await data.close();
  }
}
