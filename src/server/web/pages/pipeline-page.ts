import { html } from 'hono/html';
import type { ApiPipeline } from '../../../shared/api.ts';
import { isFinal } from '../../../shared/outcome.ts';
import { shortRef } from '../../../shared/plain-text.ts';
import { type Markup, page, retryNote, stateBadge, when } from './layout.ts';
import { runsTable } from './runs-page.ts';

export function pipelinePage(pipeline: ApiPipeline, nowMs: number): Markup {
  return page(
    `Pipeline ${pipeline.id} - vole`,
    pipeline.runs.some((run) => !isFinal(run.state)),
    html`<h1>Pipeline ${pipeline.id} <span class="faint">${pipeline.repository}</span></h1>
      <p>
        ${pipeline.title} ${shortRef(pipeline.ref)} <code>${pipeline.sha}</code>, ${pipeline.event},
        ${pipeline.trust}, ${when(pipeline.createdAtMs, nowMs)}${retryNote(pipeline.retryOf)}
      </p>
      ${
        pipeline.fault === null
          ? ''
          : html`<p class="outcome">${stateBadge('failed')} The workflow file has a fault:</p>
            <pre class="fault">${pipeline.fault}</pre>`
      }
      <div data-part="again">
        ${isRetried(pipeline) ? html`<p>Again: <code>vole retry --pipeline ${pipeline.id}</code></p>` : ''}
      </div>
      <div data-part="runs">${pipeline.runs.length === 0 ? '' : runsTable(pipeline.runs, nowMs)}</div>`,
  );
}

/** The pages only read, so it is a command to copy. */
function isRetried({ runs }: ApiPipeline): boolean {
  const hasEnded = runs.every(({ state }) => isFinal(state));
  return hasEnded && runs.some(({ kind, state }) => kind === 'job' && state !== 'passed');
}
