import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { age, shortRef } from '../../../shared/plain-text.ts';

/** Markup whose values have been escaped by `html`. */
export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;

/**
 * A whole page. Elements with `data-part` are what the script replaces when the same address gives
 * something else for them; `live` makes it look every few seconds.
 */
export function page(title: string, live: boolean, body: Markup): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/vole.css" />
        <script src="/assets/page.js" defer></script>
      </head>
      <body data-live="${live ? '1' : '0'}">
        <header>
          <a class="brand" href="/">vole</a>
          <nav><a href="/">Runs</a> <a href="/pipelines">Pipelines</a> <a href="/runners">Runners</a></nav>
        </header>
        <main>${body}</main>
      </body>
    </html>`;
}

export function stateBadge(state: string): Markup {
  return html`<span class="state ${state}">${state}</span>`;
}

/** An age, with the exact time for whoever points at it. */
export function when(atMs: number | null, nowMs: number): Markup {
  if (atMs === null) return html`<span class="faint">never</span>`;
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${new Date(atMs).toISOString()}"
    >${age(atMs, nowMs)}</time
  >`;
}

/** Of which pipeline one is a retry. */
export function retryNote(retryOf: number | null): Markup | string {
  return retryOf === null ? '' : html`, a retry of <a href="/pipelines/${retryOf}">${retryOf}</a>`;
}

export function errorPage(title: string, message: string): Markup {
  return page(title, false, html`<h1>${title}</h1><p>${message}</p>`);
}

/** Branch or tag and the commit; a commit alone where that is what was asked for. */
export function refWords({ ref, sha }: { readonly ref: string; readonly sha: string }): Markup {
  const commit = html`<code>${sha.slice(0, 8)}</code>`;
  return ref === sha ? commit : html`${shortRef(ref)} ${commit}`;
}
