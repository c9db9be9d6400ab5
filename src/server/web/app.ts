import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { VoleError } from '../../shared/errors.ts';
import { judge, type Need } from './access.ts';
import { addAdminRoutes } from './admin-routes.ts';
import { BodyTooBig } from './body.ts';
import { addEventRoutes } from './event-routes.ts';
import { faultReply, replyToError } from './faults.ts';
import { addHookRoutes } from './hook-routes.ts';
import { addPageRoutes, nothingHere } from './page-routes.ts';
import type { WebParts } from './parts.ts';
import { addRunFileRoutes } from './run-file-routes.ts';
import { addRunRoutes } from './run-routes.ts';

/** Nothing is loaded from elsewhere and no script stands in a page: what a log says cannot become one. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Passes the request on, or answers 401, or 421 where it was addressed to another host's name. */
export function requires(parts: WebParts, need: Need): MiddlewareHandler {
  return async (context, next) => {
    const verdict = judge(parts.access, need, {
      host: context.req.header('host') ?? null,
      authorization: context.req.header('authorization') ?? null,
    });
    switch (verdict) {
      case 'allowed':
        return next();
      case 'wrong-host':
        return faultReply(
          context,
          'auth-refused',
          'this name is not one that the server listens on: use the address it printed',
          421,
        );
      case 'unauthorised':
        context.header('www-authenticate', need === 'read' ? 'Basic realm="vole"' : 'Bearer realm="vole"');
        return faultReply(
          context,
          'auth-refused',
          need === 'read' ? 'the token is missing or wrong' : 'this needs the admin token, as Bearer',
        );
      default:
        return verdict satisfies never;
    }
  };
}

export function createApp(parts: WebParts): Hono {
  const app = new Hono();
  app.onError((error, context) => {
    if (!(error instanceof VoleError)) parts.onFault(error, `${context.req.method} ${context.req.path}`);
    if (error instanceof BodyTooBig) return faultReply(context, error.code, error.message, 413);
    return replyToError(context, error);
  });
  app.notFound(nothingHere);
  app.use('*', withHeaders);
  // alive or not: says nothing that would need a token
  app.get('/healthz', (context: Context) => context.json({ ok: true }));
  addHookRoutes(app, parts);
  const read = requires(parts, 'read');
  const admin = requires(parts, 'admin');
  app.use('*', async (context, next) => {
    const reads = context.req.method === 'GET' || context.req.method === 'HEAD';
    return reads ? read(context, next) : admin(context, next);
  });
  addRunRoutes(app, parts);
  addRunFileRoutes(app, parts);
  addAdminRoutes(app, parts, admin);
  addEventRoutes(app, parts);
  addPageRoutes(app, parts);
  return app;
}

const withHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
};
