import { z } from 'zod';
import { CHANGE_ARTIFACT, type PublishRequest } from '../../shared/agent/result.ts';
import { type AgentSpec, agentSpecSchema } from '../../shared/agent/spec.ts';
import { refFault } from '../../shared/api-names.ts';
import { oneLine } from '../../shared/errors.ts';
import type { Settled } from '../../shared/worker-messages.ts';
import { hiderOf } from '../control/parts.ts';
import type { ForgeClients } from '../forges/clients.ts';
import { safeMarkdown, safeTitle } from '../forges/safe-text.ts';
import { readToken } from '../forges/token-file.ts';
import type { ArtifactFiles } from '../logs/log-files.ts';
import type { Mirrors } from '../pipelines/mirrors.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { Store } from '../store/store.ts';
import { pushEnv, withoutToken } from './credentials.ts';
import { onePullOf, patienceMs } from './pull-request.ts';
import { pushChange } from './push-change.ts';

export interface PublishParts {
  readonly store: Pick<Store, 'runs' | 'agents' | 'repositories'>;
  readonly mirrors: Pick<Mirrors, 'use'>;
  readonly clients: Pick<ForgeClients, 'for'>;
  readonly artifacts: Pick<ArtifactFiles, 'path'>;
  readonly secrets: Pick<Secrets, 'secretsFor'>;
}

export interface RunRef {
  readonly run: number;
  readonly attempt: number;
}

export type Attempted =
  | Settled
  /** `mostMs`: no longer than that; null: as long as anything is tried. */
  | { readonly state: 'again'; readonly why: string; readonly mostMs: number | null };

const specSchema = z.object({ source: z.object({ sha: z.string() }), agent: agentSpecSchema });

/**
 * One attempt at a change's push and pull request. It may be repeated after any part of it was done, also by
 * another process. `signal` ends git. Throws `interrupted` where the server closes.
 */
export async function publishChange(
  parts: PublishParts,
  of: RunRef,
  request: PublishRequest,
  signal: AbortSignal,
): Promise<Attempted> {
  const facts = await factsOf(parts, of, request);
  if (typeof facts === 'string') return failed(facts);
  const { repository, found, branch, agent, bundle } = facts;
  const token = await readToken(found.forge.tokenFile);
  if (!token.ok) return { state: 'again', why: token.why, mostMs: null };
  const hideSecrets = await hiderOf(parts, repository.name);
  const hide = (text: string): string => hideSecrets(withoutToken(text, token.value));
  const kept = await parts.store.agents.changeOf(of.run, of.attempt);
  const pushed = await parts.mirrors.use(
    repository,
    async (mirror) => {
      const end = await pushChange(mirror, {
        request,
        bundle,
        branch,
        mayMake: !agent.target.pull,
        env: pushEnv(repository.cloneUrl, found.forge.apiUrl, token.value),
        kept,
        keep: (change) => parts.store.agents.keepChange(of.run, of.attempt, { ...change, published: null }),
      });
      // of the pull request that has to be made, if any
      const base = end.type === 'pushed' && !agent.target.pull ? await mirror.defaultBranch() : '';
      return { base, end };
    },
    signal,
  );
  const { base, end } = pushed;
  if (end.type === 'again') return { state: 'again', why: hide(end.why), mostMs: null };
  if (end.type === 'failed') return failed(hide(end.why));
  const { client } = found;
  const wanted = {
    title: safeTitle(hide(request.title)),
    body: safeMarkdown(hide(request.body)),
    head: branch,
    base,
  };
  // the target of `fix` has its own already
  const pull = agent.target.pull ? await client.openPullOf(branch) : await onePullOf(client, wanted);
  if (!pull.ok) {
    const why = hide(`${branch} was pushed, but not its pull request made: ${pull.why}`);
    const mostMs = patienceMs(pull);
    return mostMs === 0 ? failed(why) : { state: 'again', why, mostMs };
  }
  return { state: 'pushed', commit: end.sha, branch, pull: pull.value, rebased: end.rebased };
}

interface Facts {
  readonly repository: { readonly name: string; readonly cloneUrl: string };
  readonly found: NonNullable<Awaited<ReturnType<ForgeClients['for']>>>;
  readonly agent: AgentSpec;
  readonly branch: string;
  readonly bundle: string;
}

/** Or what is wrong with what was asked. */
async function factsOf(
  { store, clients, artifacts }: PublishParts,
  { run, attempt }: RunRef,
  request: PublishRequest,
): Promise<Facts | string> {
  const known = await store.runs.get(run);
  const spec = specSchema.safeParse(await store.runs.specOf(run));
  const branch = spec.success ? spec.data.agent.branch : null;
  if (known === null || !spec.success || branch === null || refFault(branch) !== null)
    return 'the run is none that has a change to push';
  if (request.parent !== spec.data.source.sha)
    return 'the change is not on the commit that was given to the run';
  const repository = await store.repositories.get(known.repository);
  const found = await clients.for(known.repository);
  if (repository === null || found === null) return 'the repository has no forge any more';
  const bundle = await artifacts.path(run, attempt, CHANGE_ARTIFACT);
  if (bundle === null) return 'the change was not handed in';
  return { repository, found, agent: spec.data.agent, branch, bundle };
}

function failed(why: string): Settled {
  return { state: 'failed', why: oneLine(why).slice(0, 500) };
}
