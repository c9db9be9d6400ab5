import { html } from 'hono/html';
import type { ApiMachines } from '../../../shared/api.ts';
import { counted } from '../../../shared/counted.ts';
import { formatBytes } from '../../../shared/units.ts';
import { type Markup, page, when } from './layout.ts';

type Machine = ApiMachines['machines'][number];
type Session = Machine['sessions'][number];

export function runnersPage(view: ApiMachines, nowMs: number): Markup {
  return page(
    'Runners - vole',
    true,
    html`<h1>Runners</h1>
      <div data-part="machines">
        ${
          view.machines.length === 0
            ? html`<p class="faint">No runner is connected.</p>`
            : view.machines.map((machine) => machineSection(machine, nowMs))
        }
      </div>`,
  );
}

function machineSection(machine: Machine, nowMs: number): Markup {
  return html`<section>
    <h2>${machine.machine} <span class="busy">${machine.busy} of ${machine.slots} busy</span></h2>
    <p class="faint">vole ${machine.versions.join(', ')}; jobs claim ${claimed(machine)}${offered(machine)}</p>
    ${machine.keepsRoomFor.map(
      (run) =>
        html`<p>
          A runner here keeps room for <a href="/runs/${run}">run #${run}</a>, which has waited long, and takes
          no later run until that fits.
        </p>`,
    )}
    <table>
      <thead>
        <tr>
          <th>Slot</th>
          <th>Account</th>
          <th>Runs</th>
          <th>Since</th>
          <th>Labels</th>
          <th>Connected</th>
          <th>Process</th>
        </tr>
      </thead>
      <tbody>
        ${machine.sessions.map((session) => sessionRow(session, nowMs))}
      </tbody>
    </table>
  </section>`;
}

function claimed(machine: Machine): string {
  const cores = `${machine.heldCpus} of ${counted(machine.cpus, 'core')}`;
  if (machine.heldMemoryBytes === 0) return cores;
  return `${cores} and ${formatBytes(machine.heldMemoryBytes)} of ${formatBytes(machine.memoryBytes)}`;
}

/** Each process offers what its `--cpus` and `--memory` say, by default the whole host. */
function offered({ sessions }: Machine): string {
  const processes = new Set(sessions.map(({ process }) => process)).size;
  return processes > 1 ? ` that its ${processes} processes offer together` : '';
}

function sessionRow(session: Session, nowMs: number): Markup {
  const { run } = session;
  return html`<tr>
    <td>${session.slot + 1}</td>
    <td>${session.account}</td>
    <td>
      ${
        run === null
          ? html`<span class="faint">idle</span>`
          : html`<a href="/runs/${run.id}">${run.repository}: ${run.job} #${run.id}</a>`
      }
    </td>
    <td>${when(run === null ? session.sinceMs : run.sinceMs, nowMs)}</td>
    <td>${session.labels.join(', ')}</td>
    <td>${when(session.sinceMs, nowMs)}</td>
    <td class="faint">${session.process}</td>
  </tr>`;
}
