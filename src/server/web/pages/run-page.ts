import { html } from 'hono/html';
import type { ApiRunDetail } from '../../../shared/api.ts';
import { isFinal } from '../../../shared/outcome.ts';
import { lastDrawn, plain, shortRef } from '../../../shared/plain-text.ts';
import { formatBytes, formatDuration } from '../../../shared/units.ts';
import type { LogTail } from '../log-tail.ts';
import { type Markup, page, retryNote, stateBadge, when } from './layout.ts';
import { took } from './runs-page.ts';

export interface RunPage {
  readonly run: ApiRunDetail;
  readonly artifacts: readonly { name: string; bytes: number }[];
  readonly tail: LogTail;
  readonly nowMs: number;
}

export function runPage(view: RunPage): Markup {
  const { run } = view;
  return page(
    `${run.job} #${run.id} - vole`,
    !isFinal(run.state),
    html`<h1>${run.job} <span class="faint">#${run.id}</span></h1>
      <div data-part="summary">${summary(run, view.nowMs)}</div>
      <div data-part="wait">${run.wait === null ? '' : waiting(run.wait)}</div>
      <div data-part="agent">${run.agent === null ? '' : agent(run.agent)}</div>
      <div data-part="steps">${run.steps.length === 0 ? '' : steps(run)}</div>
      <div data-part="artifacts">${view.artifacts.length === 0 ? '' : artifacts(view)}</div>
      <div data-part="siblings">${run.siblings.length === 0 ? '' : siblings(run)}</div>
      ${log(view)}`,
  );
}

function summary(run: ApiRunDetail, nowMs: number): Markup {
  return html`<p class="outcome">
      ${stateBadge(run.state)} ${run.detail}
      ${run.cancelWhy !== null && run.state === 'running' ? html`(being cancelled: ${run.cancelWhy})` : ''}
    </p>
    <dl>
      <dt>Repository</dt>
      <dd><a href="/?repository=${encodeURIComponent(run.repository)}">${run.repository}</a></dd>
      <dt>Commit</dt>
      <dd>${shortRef(run.ref)} <code>${run.sha}</code></dd>
      <dt>Pipeline</dt>
      <dd>
        <a href="/pipelines/${run.pipeline}">${run.pipeline}</a>${retryNote(run.retryOf)}, ${run.event},
        ${run.trust}
      </dd>
      <dt>Created</dt>
      <dd>${when(run.createdAtMs, nowMs)}</dd>
      ${
        run.startedAtMs === null
          ? ''
          : html`<dt>Started</dt>
            <dd>${when(run.startedAtMs, nowMs)}, took ${took(run, nowMs)}</dd>`
      }
      ${
        run.machine === null
          ? ''
          : html`<dt>Machine</dt>
            <dd>${run.machine} (account ${run.account ?? ''})</dd>`
      }
      <dt>Attempt</dt>
      <dd>${run.attempt}${run.lostCount > 0 ? `, ${run.lostCount} lost before` : ''}</dd>
      ${
        isRetried(run)
          ? html`<dt>Again</dt>
            <dd><code>vole retry ${run.id}</code></dd>`
          : ''
      }
    </dl>`;
}

/** The pages only read, so it is a command to copy. */
function isRetried({ kind, state }: ApiRunDetail): boolean {
  return kind === 'job' && isFinal(state) && state !== 'passed';
}

function waiting(wait: NonNullable<ApiRunDetail['wait']>): Markup {
  return html`<h2>Why it waits</h2>
    <ul>
      ${wait.reasons.map((reason) => html`<li>${reason.text}</li>`)}
    </ul>
    ${wait.place === null ? '' : html`<p>Place ${wait.place} among the runs that could be leased.</p>`}`;
}

/** As it was written: rendered, it could load things from elsewhere. */
function agent({ report, change }: NonNullable<ApiRunDetail['agent']>): Markup {
  const pushed =
    change && html`<p>Pushed <code>${change.commit}</code> to ${change.branch}${pullLink(change)}.</p>`;
  return html`<h2>Report</h2>
    ${pushed ?? ''}
    <pre class="report">${plain(report)}</pre>`;
}

function pullLink({ pull }: NonNullable<NonNullable<ApiRunDetail['agent']>['change']>): Markup | string {
  if (pull === null) return '';
  if (!/^https?:\/\//i.test(pull.url)) return `, pull request ${pull.number}`;
  return html`, <a href="${pull.url}">pull request ${pull.number}</a>`;
}

function steps(run: ApiRunDetail): Markup {
  return html`<h2>Steps</h2>
    <table>
      <tbody>
        ${run.steps.map(
          (step, index) =>
            html`<tr>
              <td>${index + 1}</td>
              <td>${stateBadge(step.result)}</td>
              <td>${step.name}</td>
              <td>${formatDuration(step.durationMs)}</td>
              <td>${step.detail}</td>
            </tr>`,
        )}
      </tbody>
    </table>`;
}

function artifacts(view: RunPage): Markup {
  return html`<h2>Artifacts</h2>
    <ul>
      ${view.artifacts.map(
        (artifact) =>
          html`<li>
            <a href="/api/runs/${view.run.id}/artifacts/${encodeURIComponent(artifact.name)}"
              >${artifact.name}</a
            >
            ${formatBytes(artifact.bytes)}
          </li>`,
      )}
    </ul>`;
}

function siblings(run: ApiRunDetail): Markup {
  return html`<h2>Other runs of this pipeline</h2>
    <ul class="inline">
      ${run.siblings.map(
        (other) => html`<li>${stateBadge(other.state)} <a href="/runs/${other.id}">${other.job}</a></li>`,
      )}
    </ul>`;
}

/** The script goes on at `data-offset`; the lines here are what is there without it. */
function log(view: RunPage): Markup {
  const { tail, run } = view;
  const whole = `/api/runs/${run.id}/log?attempt=${tail.attempt}`;
  return html`<h2>Log</h2>
    <p class="faint">
      <a href="${whole}">Whole log</a>${
        tail.skippedBytes > 0
          ? html`, of which the first ${formatBytes(tail.skippedBytes)} are not shown here`
          : ''
      }
    </p>
    <div id="log" data-run="${run.id}" data-attempt="${tail.attempt}" data-offset="${tail.nextOffset}">
      ${tail.records.map(
        (record) =>
          html`<div class="line ${record.stream}"><i>${(record.ms / 1000).toFixed(2)}</i><b>${record.step}</b><span>${plain(lastDrawn(record.text))}</span></div>`,
      )}
    </div>`;
}
