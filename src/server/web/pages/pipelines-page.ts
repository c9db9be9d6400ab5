import { html } from 'hono/html';
import type { ApiPipelineSummary } from '../../../shared/api.ts';
import { shownState } from '../pipeline-words.ts';
import { type Markup, page, refWords, retryNote, when } from './layout.ts';

export interface PipelinesPage {
  readonly pipelines: readonly ApiPipelineSummary[];
  readonly nowMs: number;
  readonly repository: string | null;
  /** Address of the next page, or null. */
  readonly older: string | null;
}

export function pipelinesPage({ pipelines, nowMs, repository, older }: PipelinesPage): Markup {
  const title = repository === null ? 'Pipelines' : `Pipelines of ${repository}`;
  return page(
    `${title} - vole`,
    true,
    html`<h1>${title}</h1>
      <div data-part="pipelines">
        ${
          pipelines.length === 0
            ? html`<p class="faint">No pipelines yet.</p>`
            : html`<table>
              <thead>
                <tr>
                  <th>Pipeline</th>
                  <th>State</th>
                  <th>Repository</th>
                  <th>Event</th>
                  <th>Commit</th>
                  <th>Title</th>
                  <th>Created</th>
                </tr>
              </thead>
              <tbody>
                ${pipelines.map((pipeline) => pipelineRow(pipeline, nowMs))}
              </tbody>
            </table>`
        }
      </div>
      ${older === null ? '' : html`<p><a href="${older}">Older pipelines</a></p>`}`,
  );
}

function pipelineRow(pipeline: ApiPipelineSummary, nowMs: number): Markup {
  const { id, repository } = pipeline;
  return html`<tr>
    <td><a href="/pipelines/${id}">${id}</a>${retryNote(pipeline.retryOf)}</td>
    <td><span class="state ${shownState(pipeline)}">${pipeline.summary}</span></td>
    <td><a href="/pipelines?repository=${encodeURIComponent(repository)}">${repository}</a></td>
    <td>${pipeline.event}</td>
    <td>${refWords(pipeline)}</td>
    <td>${pipeline.title}</td>
    <td>${when(pipeline.createdAtMs, nowMs)}</td>
  </tr>`;
}
