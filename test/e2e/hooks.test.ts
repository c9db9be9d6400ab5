import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApiRun } from '../../src/shared/api.ts';
import { Rig } from '../support/e2e-rig.ts';
import { signedHeaders } from '../support/event-rig.ts';
import { setForge } from '../support/forge-setup.ts';
import { pushPayload } from '../support/payloads.ts';
import { until } from '../support/until.ts';

let rig: Rig;
afterEach(() => rig.close());

describe('a delivery of Gitea', () => {
  it('of a push is executed by a runner, from the registered clone URL', async () => {
    rig = await Rig.start();
    const folder = await rig.repository(
      'team/app',
      {
        test: { checkout: true, steps: ['cat file; echo "$VOLE_EVENT $VOLE_REF $VOLE_TRUST"'] },
      },
      { files: { file: 'content' } },
    );
    rig.server.kill('SIGTERM');
    await rig.server.ended;
    const secret = await setForge(rig.dataDir, 'team/app');
    await rig.startServer();
    rig.runner(['--jobs', '1']);
    const sha = execFileSync('git', ['-C', folder, 'rev-parse', 'HEAD']).toString().trim();
    const body = JSON.stringify(pushPayload({ after: sha }));
    const reply = await fetch(`${rig.facts.http}/hooks/gitea/team/app`, {
      method: 'POST',
      headers: signedHeaders('gitea', 'push', body, { secret, id: 'd1' }),
      body,
    });
    expect(reply.status).toBe(202);
    const [run] = await until<ApiRun[] | null>('a run', async () => {
      const runs = await rig.runs();
      return runs.length > 0 ? runs : null;
    });
    expect(await rig.ended(run?.id ?? 0)).toMatchObject({ state: 'passed', sha });
    expect(await rig.output(run?.id ?? 0)).toBe('contentpush refs/heads/main trusted');
  });
});
