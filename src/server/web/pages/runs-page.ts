import { html } from 'hono/html';
import type { ApiRun } from '../../../shared/api.ts';
import { shortRef } from '../../../shared/plain-text.ts';
import { formatDuration } from '../../../shared/units.ts';
import { type Markup, page, stateBadge, when } from './layout.ts';

export interface RunsPage {
  readonly runs: readonly ApiRun[];
  readonly nowMs: number;
  readonly repository: string | null;
  /** Address of the next page, or null. */
  readonly older: string | null;
}

export function runsPage(view: RunsPage): Markup {
  const title = view.repository === null ? 'Runs' : `Runs of ${view.repository}`;
  return page(
    `${title} - vole`,
    true,
    html`<h1>${title}</h1>
      <div data-part="runs">
        ${view.runs.length === 0 ? html`<p class="faint">No runs yet.</p>` : runsTable(view.runs, view.nowMs)}
      </div>
      ${view.older === null ? '' : html`<p><a href="${view.older}">Older runs</a></p>`}`,
  );
}

export function runsTable(runs: readonly ApiRun[], nowMs: number): Markup {
  return html`<table>
    <thead>
      <tr>
        <th>Run</th>
        <th>State</th>
        <th>Repository</th>
        <th>Job</th>
        <th>Commit</th>
        <th>Created</th>
        <th>Took</th>
        <th>Machine</th>
      </tr>
    </thead>
    <tbody>
      ${runs.map((run) => runRow(run, nowMs))}
    </tbody>
  </table>`;
}

function runRow(run: ApiRun, nowMs: number): Markup {
  return html`<tr>
    <td><a href="/runs/${run.id}">#${run.id}</a></td>
    <td>${stateBadge(run.state)}</td>
    <td><a href="/?repository=${encodeURIComponent(run.repository)}">${run.repository}</a></td>
    <td><a href="/runs/${run.id}">${run.job}</a></td>
    <td>${shortRef(run.ref)} <code>${run.sha.slice(0, 8)}</code></td>
    <td>${when(run.createdAtMs, nowMs)}</td>
    <td>${took(run, nowMs)}</td>
    <td>${run.machine ?? ''}</td>
  </tr>`;
}

export function took(run: Pick<ApiRun, 'startedAtMs' | 'endedAtMs'>, nowMs: number): string {
  if (run.startedAtMs === null) return '';
  return formatDuration(Math.max(0, (run.endedAtMs ?? nowMs) - run.startedAtMs));
}
