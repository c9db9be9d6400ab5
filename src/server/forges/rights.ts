import { z } from 'zod';
import type { ForgeApi } from './api.ts';
import type { Rights } from './client.ts';
import type { Reply } from './reply.ts';

const repositorySchema = z.object({
  permissions: z
    .object({ admin: z.boolean().default(false), push: z.boolean().default(false) })
    .default({ admin: false, push: false }),
});

/** No commit and no issue has these, so a token that may write is answered "not found" and changes nothing. */
const NO_COMMIT = '0'.repeat(40);
const NO_ISSUE = 0;

/**
 * What a token lacks for what vole does with it. The forge tells what its owner may do; what the token's
 * scopes add to that only a try shows.
 */
export async function rightsOf(api: ForgeApi, repo: string, me: Reply<string>): Promise<Reply<Rights>> {
  if (!me.ok) return me;
  const login = me.value;
  const missing: string[] = [];
  const asked = await api.ask('GET', repo);
  if (!asked.ok) return asked;
  if (asked.value.status === 404 || asked.value.status === 403)
    return { ok: true, value: { login, missing: [`${login} cannot see the repository`] } };
  if (asked.value.status !== 200) return api.unexpected('GET', repo, asked.value);
  const { permissions } = repositorySchema.parse(asked.value.json ?? {});
  if (!permissions.push) missing.push(`${login} may not write, so it can set no commit status`);
  const tries: readonly [string, Parameters<ForgeApi['ask']>][] = [
    [
      "ask for a user's permission (on Gitea and Forgejo an administrator's token can)",
      ['GET', `${repo}/collaborators/${encodeURIComponent(login)}/permission`],
    ],
    ['set a commit status', ['POST', `${repo}/statuses/${NO_COMMIT}`, { state: 'pending', context: 'vole' }]],
    ['write a comment', ['POST', `${repo}/issues/${NO_ISSUE}/comments`, { body: 'vole' }]],
  ];
  for (const [what, request] of tries) {
    const reply = await api.ask(...request);
    if (!reply.ok) return reply;
    if (reply.value.status === 401 || reply.value.status === 403) missing.push(`the token may not ${what}`);
  }
  if (!permissions.admin && api.dialect.asksAsAdmin)
    missing.push(`${login} is no administrator of the repository, so it cannot ask who may give commands`);
  return { ok: true, value: { login, missing } };
}
