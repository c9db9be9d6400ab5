import { Command } from 'commander';
import { type ApiArtifacts, artifactListSchema } from '../shared/api.ts';
import { type ErrorCode, VoleError } from '../shared/errors.ts';
import { suggest } from '../shared/suggest.ts';
import { formatBytes } from '../shared/units.ts';
import type { ApiClient } from './client/api-client.ts';
import { addClientOptions, clientOf, type Options, printJson, runId } from './client/client-command.ts';
import { saveStream } from './client/save-stream.ts';
import { targetsOf } from './client/save-targets.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';

type Artifact = ApiArtifacts['artifacts'][number];

/** `vole artifacts`: what a run has left, as a list or as files. */
export function artifactsCommand(context: CliContext): Command {
  const command = new Command('artifacts')
    .description("list a run's artifacts, or download them")
    .argument('<run>')
    .argument('[name...]', 'download these; without a name they are listed')
    .option('--all', 'download all of them')
    .option(
      '-o, --output <path>',
      'the file to write, or a folder: one that is there, ends with / or is for several; - is standard output (default: this folder)',
    )
    .option('--force', 'write over files that are there');
  withExamples(addClientOptions(command), [
    { command: 'vole artifacts 12 --data /var/lib/vole-server', what: 'what run 12 has left' },
    { command: 'vole artifacts 12 dist', what: 'dist.tar.gz, into this folder' },
    { command: 'vole artifacts 12 dist -o app.tar.gz', what: 'the same, by another name' },
    { command: 'vole artifacts 12 --all -o out', what: 'all of them, into the folder out' },
    { command: 'vole artifacts 12 dist -o - | tar -xz', what: 'unpack it here' },
  ]);
  return command.action(async (text: string, names: string[], options: Options) => {
    const id = runId(text);
    const isList = !options['all'] && names.length === 0;
    if (isList) refuseDownloadOptions(options);
    const client = clientOf(options, context);
    const known = await client.get(`/api/runs/${id}/artifacts`, artifactListSchema);
    if (!isList)
      return download(
        client,
        { run: id, known, wanted: wantedOf(id, known, names, options) },
        options,
        context,
      );
    if (options['json']) return printJson(context, known);
    context.stdout(listOf(id, known));
  });
}

/** Somebody who gives them expects a file, and would take the list for it. */
function refuseDownloadOptions(options: Options): void {
  for (const name of ['output', 'force'])
    if (options[name] !== undefined)
      throw new VoleError('usage', `--${name} is for downloads: name the artifacts, or give --all`);
}

/** Each once. A name is checked with `--all` too, where it can only be a mistake in the command line. */
function wantedOf(run: number, known: ApiArtifacts, names: readonly string[], options: Options): Artifact[] {
  const code = options['all'] ? 'usage' : 'not-found';
  const named = names.map((name) => artifactOf(run, known, name, code));
  return options['all'] ? known.artifacts : [...new Set(named)];
}

interface Wanted {
  readonly run: number;
  readonly known: ApiArtifacts;
  readonly wanted: readonly Artifact[];
}

async function download(
  client: ApiClient,
  { run, known, wanted }: Wanted,
  options: Options,
  context: CliContext,
) {
  const output = typeof options['output'] === 'string' ? options['output'] : '.';
  const json = Boolean(options['json']);
  const isForced = Boolean(options['force']);
  const toOutput = output === '-';
  if (toOutput && wanted.length !== 1)
    throw new VoleError('usage', `--output -: name one artifact; these are ${wanted.length}`);
  const isFolder = Boolean(options['all']) || wanted.length > 1;
  const files = wanted.map(({ file }) => file);
  const targets = toOutput ? [] : targetsOf(files, { output, isFolder, isForced });
  const saved: { name: string; path: string; bytes: number }[] = [];
  try {
    for (const [index, artifact] of wanted.entries()) {
      const target = targets[index] ?? null;
      const body = await client.stream(`/api/runs/${run}/artifacts/${encodeURIComponent(artifact.name)}`);
      await saveStream(body, artifact, { target, isForced, json }, context);
      if (target !== null) saved.push({ name: artifact.name, path: target, bytes: artifact.bytes });
    }
  } catch (error) {
    const before = saved.map(({ path }) => path).join(', ');
    if (before) context.stderr(`vole: saved before the fault: ${before}\n`);
    throw error;
  }
  if (toOutput) return;
  if (json) return printJson(context, { run, attempt: known.attempt, saved });
  for (const { path, bytes } of saved) context.stdout(`${path}  ${formatBytes(bytes)}\n`);
}

function artifactOf(run: number, { artifacts }: ApiArtifacts, name: string, code: ErrorCode): Artifact {
  const found = artifacts.find((artifact) => artifact.name === name || artifact.file === name);
  if (found) return found;
  const names = artifacts.map((artifact) => artifact.name);
  const near = suggest(name, names);
  const has = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
  const what = near === null ? has : `did you mean ${near}?`;
  throw new VoleError(code, `run ${run} has no artifact '${name}': ${what}`);
}

function listOf(run: number, { artifacts, attempt }: ApiArtifacts): string {
  if (artifacts.length === 0)
    return `run ${run} has no artifacts${attempt > 1 ? ` of attempt ${attempt}` : ''}\n`;
  const rows = artifacts.map(({ name, file, bytes }) => [name, file, formatBytes(bytes)]);
  return table(['NAME', 'FILE', 'SIZE'], rows);
}
