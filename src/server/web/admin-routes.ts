import type { Hono, MiddlewareHandler } from 'hono';
import { addKeyBodySchema, addRepositoryBodySchema, setRepositoryBodySchema } from '../../shared/api.ts';
import { retryTasksBodySchema, taskQuerySchema, webhookBodySchema } from '../../shared/api-forge.ts';
import { repositoryNameSchema } from '../../shared/api-names.ts';
import { VoleError } from '../../shared/errors.ts';
import { addKey, addRepository, removeKeys, removeRepository, setRepository } from '../admin.ts';
import { boundedBody, jsonBody } from './body.ts';
import { parsed } from './faults.ts';
import type { WebParts } from './parts.ts';
import { keyView, repositorySetView, repositoryView, taskView } from './views.ts';

/** Repositories, keys and secrets. Keys and secrets are shown to administrators alone. */
export function addAdminRoutes(app: Hono, parts: WebParts, admin: MiddlewareHandler): void {
  addRepositoryRoutes(app, parts, admin);
  addKeyRoutes(app, parts, admin);
  addSecretRoutes(app, parts, admin);
  addTaskRoutes(app, parts);
}

function repositoryName(owner: string, name: string): string {
  return parsed(repositoryNameSchema, `${owner}/${name}`);
}

function addRepositoryRoutes(app: Hono, parts: WebParts, admin: MiddlewareHandler): void {
  const { repositories } = parts.store;

  app.get('/api/repos', async (context) =>
    context.json({ repositories: (await repositories.list()).map(repositoryView) }),
  );

  app.post('/api/repos', async (context) => {
    const body = await jsonBody(context, addRepositoryBodySchema);
    return context.json(repositorySetView(await addRepository(parts, body)), 201);
  });

  app.get('/api/repos/:owner/:name', async (context) => {
    const name = repositoryName(context.req.param('owner'), context.req.param('name'));
    const repository = await repositories.get(name);
    if (repository === null) throw new VoleError('not-found', `no repository ${name}`);
    return context.json(repositoryView(repository));
  });

  app.patch('/api/repos/:owner/:name', async (context) => {
    const name = repositoryName(context.req.param('owner'), context.req.param('name'));
    const body = await jsonBody(context, setRepositoryBodySchema);
    const before = await repositories.get(name);
    const after = await setRepository(parts, name, body);
    if (before !== null && before.cloneUrl !== after.repository.cloneUrl) await parts.mirrors.forget(before);
    return context.json(repositorySetView(after));
  });

  app.get('/api/repos/:owner/:name/webhook', admin, async (context) => {
    const name = repositoryName(context.req.param('owner'), context.req.param('name'));
    return context.json(await parts.forges.webhook(name));
  });

  app.post('/api/repos/:owner/:name/webhook', async (context) => {
    const name = repositoryName(context.req.param('owner'), context.req.param('name'));
    const body = await jsonBody(context, webhookBodySchema);
    return context.json(await parts.forges.webhook(name, body.newSecret));
  });

  app.delete('/api/repos/:owner/:name', async (context) => {
    const name = repositoryName(context.req.param('owner'), context.req.param('name'));
    const { repository, secrets } = await removeRepository(parts.store, name);
    await parts.mirrors.forget(repository);
    return context.json({ removed: 1, secrets });
  });
}

function addKeyRoutes(app: Hono, parts: WebParts, admin: MiddlewareHandler): void {
  const { accounts } = parts.store;

  app.get('/api/keys', admin, async (context) =>
    context.json({ keys: (await accounts.keys()).map(keyView) }),
  );

  app.post('/api/keys', async (context) => {
    const body = await jsonBody(context, addKeyBodySchema);
    return context.json(await addKey(parts.store, body.account, body.publicKey), 201);
  });

  app.delete('/api/keys/:account', async (context) => {
    const fingerprint = context.req.query('fingerprint') ?? null;
    return context.json({
      removed: await removeKeys(parts.store, context.req.param('account'), fingerprint),
    });
  });
}

function addSecretRoutes(app: Hono, parts: WebParts, admin: MiddlewareHandler): void {
  app.get('/api/repos/:owner/:name/secrets', admin, async (context) => {
    const repository = repositoryName(context.req.param('owner'), context.req.param('name'));
    const secrets = await parts.secrets.names(repository);
    return context.json({
      secrets: secrets.map(({ name, updatedAt }) => ({ name, updatedAtMs: updatedAt })),
    });
  });

  // the body is the value itself, byte for byte
  app.put('/api/repos/:owner/:name/secrets/:secret', async (context) => {
    const repository = repositoryName(context.req.param('owner'), context.req.param('name'));
    const value = await boundedBody(context);
    await parts.secrets.set(repository, context.req.param('secret'), value);
    return context.json({ name: context.req.param('secret') });
  });

  app.delete('/api/repos/:owner/:name/secrets/:secret', async (context) => {
    const repository = repositoryName(context.req.param('owner'), context.req.param('name'));
    await parts.secrets.remove(repository, context.req.param('secret'));
    return context.json({ removed: 1 });
  });
}

function addTaskRoutes(app: Hono, parts: WebParts): void {
  app.get('/api/tasks', async (context) => {
    const { state: states, limit } = parsed(taskQuerySchema, context.req.query());
    const tasks = await parts.store.tasks.list({ states, limit });
    return context.json({ tasks: tasks.map(taskView) });
  });

  app.post('/api/tasks/retry', async (context) => {
    const { id } = await jsonBody(context, retryTasksBodySchema);
    return context.json({ retried: await parts.store.tasks.retry(id) });
  });
}
