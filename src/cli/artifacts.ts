import { Command } from 'commander';
import { type ApiArtifacts, artifactListSchema } from '../shared/api.ts';
import { VoleError } from '../shared/errors.ts';
import { suggest } from '../shared/suggest.ts';
import { formatBytes } from '../shared/units.ts';
import { addClientOptions, clientOf, type Options, printJson, runId } from './client/client-command.ts';
import { saveStream } from './client/save-stream.ts';
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
    .option('-o, --output <path>', 'the folder to write to, or - for standard output', '.')
    .option('--force', 'write over files that are there');
  withExamples(addClientOptions(command), [
    { command: 'vole artifacts 12 --data /var/lib/vole-server', what: 'what run 12 has left' },
    { command: 'vole artifacts 12 dist', what: 'dist.tar.gz, into this folder' },
    { command: 'vole artifacts 12 dist -o - | tar -xz', what: 'unpack it here' },
  ]);
  return command.action(async (text: string, names: string[], options: Options) => {
    const id = runId(text);
    const client = clientOf(options, context);
    const known = await client.get(`/api/runs/${id}/artifacts`, artifactListSchema);
    const wanted = options['all'] ? known.artifacts : names.map((name) => artifactOf(id, known, name));
    const isList = !options['all'] && names.length === 0;
    if (isList) {
      if (options['json']) return printJson(context, known);
      return context.stdout(listOf(id, known));
    }
    const output = String(options['output']);
    if (output === '-' && wanted.length !== 1)
      throw new VoleError('usage', `--output -: name one artifact; these are ${wanted.length}`);
    const saved: { name: string; path: string; bytes: number }[] = [];
    for (const artifact of wanted) {
      const body = await client.stream(`/api/runs/${id}/artifacts/${encodeURIComponent(artifact.name)}`);
      const how = { folder: output, isForced: Boolean(options['force']), json: Boolean(options['json']) };
      const path = await saveStream(body, artifact, how, context);
      if (path !== null) saved.push({ name: artifact.name, path, bytes: artifact.bytes });
    }
    if (output === '-') return;
    if (options['json']) return printJson(context, { run: id, attempt: known.attempt, saved });
    for (const { path, bytes } of saved) context.stdout(`${path}  ${formatBytes(bytes)}\n`);
  });
}

function artifactOf(run: number, { artifacts }: ApiArtifacts, name: string): Artifact {
  const found = artifacts.find((artifact) => artifact.name === name || artifact.file === name);
  if (found) return found;
  const names = artifacts.map((artifact) => artifact.name);
  const near = suggest(name, names);
  const has = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
  const what = near === null ? has : `did you mean ${near}?`;
  throw new VoleError('not-found', `run ${run} has no artifact '${name}': ${what}`);
}

function listOf(run: number, { artifacts, attempt }: ApiArtifacts): string {
  if (artifacts.length === 0)
    return `run ${run} has no artifacts${attempt > 1 ? ` of attempt ${attempt}` : ''}\n`;
  const rows = artifacts.map(({ name, file, bytes }) => [name, file, formatBytes(bytes)]);
  return table(['NAME', 'FILE', 'SIZE'], rows);
}
