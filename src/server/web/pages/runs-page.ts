import { html } from 'hono/html';
import type { ApiPipelineSummary, ApiRun } from '../../../shared/api.ts';
import { isFinal, RUN_STATES, type RunState } from '../../../shared/outcome.ts';
import { formatDuration } from '../../../shared/units.ts';
import { firstLine } from '../pipeline-words.ts';
import { type Markup, page, refWords, stateBadge, when } from './layout.ts';

export interface RunsPage {
  readonly runs: readonly ApiRun[];
  /** Pipelines that have no runs, since their workflow files have faults; like the runs the latest first. */
  readonly faulty: readonly ApiPipelineSummary[];
  readonly nowMs: number;
  readonly repository: string | null;
  /** Null shows runs in all of them. */
  readonly states: readonly RunState[] | null;
  /** Address of the next page, or null. */
  readonly older: string | null;
}

export function runsPage(view: RunsPage): Markup {
  const title = view.repository === null ? 'Runs' : `Runs of ${view.repository}`;
  const isEmpty = view.runs.length + view.faulty.length === 0;
  return page(
    `${title} - vole`,
    true,
    html`<h1>${title}</h1>
      <ul class="inline">
        ${filterLink(view, null)} ${RUN_STATES.map((state) => filterLink(view, state))}
      </ul>
      <div data-part="runs">
        ${isEmpty ? html`<p class="faint">${view.states === null ? 'No runs yet.' : 'No such runs.'}</p>` : runsTable(view.runs, view.nowMs, view.faulty)}
      </div>
      ${view.older === null ? '' : html`<p><a href="${view.older}">Older runs</a></p>`}`,
  );
}

/** To runs in one state, or where it is null in any. */
function filterLink({ repository, states }: RunsPage, state: RunState | null): Markup {
  const name = state ?? 'all';
  if (state === (states?.join() ?? null)) return html`<li>${name}</li>`;
  const query = new URLSearchParams();
  if (repository !== null) query.set('repository', repository);
  if (state !== null) query.set('state', state);
  return html`<li><a href="${query.size === 0 ? '/' : `/?${query.toString()}`}">${name}</a></li>`;
}

/** `faulty`: pipelines without runs to show among them. */
export function runsTable(
  runs: readonly ApiRun[],
  nowMs: number,
  faulty: readonly ApiPipelineSummary[] = [],
): Markup {
  const rows = [
    ...runs.map((run) => ({ pipeline: run.pipeline, row: runRow(run, nowMs) })),
    ...faulty.map((pipeline) => ({ pipeline: pipeline.id, row: faultRow(pipeline, nowMs) })),
  ];
  if (faulty.length > 0) rows.sort((a, b) => b.pipeline - a.pipeline);
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
        <th>Why</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(({ row }) => row)}
    </tbody>
  </table>`;
}

function runRow(run: ApiRun, nowMs: number): Markup {
  const why = isFinal(run.state) && run.state !== 'passed' ? firstLine(run.detail) : '';
  return html`<tr>
    <td><a href="/runs/${run.id}">#${run.id}</a></td>
    <td>${stateBadge(run.state)}</td>
    <td>${repositoryLink(run.repository)}</td>
    <td><a href="/runs/${run.id}">${run.job}</a></td>
    <td>${refWords(run)}</td>
    <td>${when(run.createdAtMs, nowMs)}</td>
    <td>${took(run, nowMs)}</td>
    <td>${run.machine ?? ''}</td>
    <td class="why">${why}</td>
  </tr>`;
}

function faultRow(pipeline: ApiPipelineSummary, nowMs: number): Markup {
  return html`<tr>
    <td></td>
    <td>${stateBadge('failed')}</td>
    <td>${repositoryLink(pipeline.repository)}</td>
    <td><a href="/pipelines/${pipeline.id}">pipeline ${pipeline.id}</a></td>
    <td>${refWords(pipeline)}</td>
    <td>${when(pipeline.createdAtMs, nowMs)}</td>
    <td></td>
    <td></td>
    <td class="why">${pipeline.summary}</td>
  </tr>`;
}

function repositoryLink(repository: string): Markup {
  return html`<a href="/?repository=${encodeURIComponent(repository)}">${repository}</a>`;
}

export function took(run: Pick<ApiRun, 'startedAtMs' | 'endedAtMs'>, nowMs: number): string {
  if (run.startedAtMs === null) return '';
  return formatDuration(Math.max(0, (run.endedAtMs ?? nowMs) - run.startedAtMs));
}
