import type { Hono } from 'hono';
import type { WebParts } from './parts.ts';

/**
 * Where forges deliver. A delivery is known by its signature: no token, and whatever name the forge
 * reaches this host by.
 */
export function addHookRoutes(app: Hono, parts: Pick<WebParts, 'intake'>): void {
  app.post('/hooks/*', async (context) => {
    const [, , forge = '', ...repository] = context.req.path.split('/');
    const { status, text } = await parts.intake.take({
      forge,
      repository: repository.join('/'),
      header: (header) => context.req.header(header) ?? null,
      body: context.req.raw.body,
    });
    if (status === 503) context.header('retry-after', '5');
    return context.text(`${text}\n`, status);
  });
}
