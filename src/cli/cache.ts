import { Command } from 'commander';
import type { Stored } from '../runner/cache/inspect.ts';
import type { Eviction } from '../runner/cache/plan-trim.ts';
import { ERRORS, VoleError } from '../shared/errors.ts';
import { formatBytes } from '../shared/units.ts';
import type { CacheParts } from './cache/open-cache.ts';
import { printJson } from './client/client-command.ts';
import { table } from './client/table.ts';
import type { CliContext } from './context.ts';
import { withExamples } from './help.ts';
import { addSettings } from './settings-options.ts';

type Options = Readonly<Record<string, unknown>>;
type Work = (parts: CacheParts, context: CliContext, json: boolean) => Promise<void>;

const VERIFY =
  "look for what should not be there, and remove what is damaged or certainly nobody's; reads every object of the saved checkouts. Exit status 74 where something is left that needs a person.";

/** `vole cache`: looks at and tidies the directory of this host's runners, beside them or without. */
export function cacheCommand(context: CliContext): Command {
  const command = new Command('cache').description("look at and tidy a runner directory's caches");
  const add = (name: string, doc: string, what: string, work: Work): void => {
    const part = new Command(name).description(doc).option('--json', 'print JSON');
    addSettings(part, 'cache');
    withExamples(part, [
      { command: `vole cache ${name} --dir /var/lib/vole`, what },
      { command: `vole cache ${name}`, what: 'the same of what `vole run` keeps in your home' },
    ]);
    part.action(async (options: Options) => {
      const { withCache } = await import('./cache/open-cache.ts');
      const json = options['json'] === true;
      await withCache(options, context, json, (parts) => work(parts, context, json));
    });
    command.addCommand(part);
  };
  add('ls', 'list namespaces and saved checkouts', 'what takes room, and what is in use', list);
  add('trim', 'evict down to the limits, now', 'make room; what is in use is passed over and named', trim);
  add(
    'clear',
    'remove every namespace that nobody uses; saved checkouts stay',
    'start with empty caches',
    clear,
  );
  add('verify', VERIFY, 'check a directory and its saved checkouts', verify);
  return command;
}

async function list(parts: CacheParts, context: CliContext, json: boolean): Promise<void> {
  const all = await parts.stored();
  if (json) return printJson(context, { stored: all });
  const rows = all.map(({ kind, name, key, sizeBytes, lastUsed, inUse }) => [
    kind,
    name,
    key ? `${key.repository} ${key.trust} ${key.image}` : '-',
    formatBytes(sizeBytes),
    lastUsed ? new Date(lastUsed).toISOString().slice(0, 19) : '-',
    inUse ? 'in use' : '',
  ]);
  context.stdout(table(['KIND', 'NAME', 'KEY', 'SIZE', 'LAST USED', ''], rows));
  const total = (kind: Stored['kind'], limit: number): string => {
    const bytes = all.filter((one) => one.kind === kind).reduce((sum, one) => sum + one.sizeBytes, 0);
    return `${formatBytes(bytes)} of ${formatBytes(limit)}`;
  };
  const { cacheBytes, gitBytes } = parts.limits;
  context.stdout(`namespaces: ${total('cache', cacheBytes)}; saved checkouts: ${total('git', gitBytes)}\n`);
}

async function trim(parts: CacheParts, context: CliContext, json: boolean): Promise<void> {
  const trimmed = await parts.trim();
  if (!trimmed) throw new VoleError('lock-held', 'another process trims this directory just now: try again');
  const undeleted = undeletedOf(parts, context);
  if (json) return printJson(context, { ...trimmed, undeleted });
  context.stdout(sentence('namespaces', trimmed.cache));
  context.stdout(sentence('saved checkouts', trimmed.git));
  context.stdout(undeletedWords(undeleted));
}

/** What is still on the disk, though it was to go: then the command has failed. */
function undeletedOf(parts: CacheParts, context: CliContext): readonly string[] {
  const undeleted = parts.withstood();
  if (undeleted.length > 0) context.exitCode = ERRORS['io-error'].exit;
  return undeleted;
}

function undeletedWords(undeleted: readonly string[]): string {
  if (undeleted.length === 0) return '';
  return 'not all of it could be deleted, and its room is not free: remove what is named above as its owner, or as root\n';
}

function sentence(what: string, eviction: Eviction): string {
  const { removed, busy, bytesBefore, bytesAfter, overshootBytes } = eviction;
  const size = `${formatBytes(bytesBefore)} before, ${formatBytes(bytesAfter)} after`;
  const skipped = busy.length > 0 ? `; skipped, in use: ${busy.join(', ')}` : '';
  const over = overshootBytes > 0 ? `; ${formatBytes(overshootBytes)} over the limit` : '';
  return `${what}: removed ${removed.length} (${size})${skipped}${over}\n`;
}

async function clear(parts: CacheParts, context: CliContext, json: boolean): Promise<void> {
  const cleared = await parts.clear();
  const undeleted = undeletedOf(parts, context);
  if (json) return printJson(context, { ...cleared, undeleted });
  const { removed, busy, removedBytes, kept } = cleared;
  const size = removedBytes === null ? '' : ` (${formatBytes(removedBytes)})`;
  const skipped = busy.length > 0 ? `; skipped, in use: ${busy.join(', ')}` : '';
  context.stdout(`namespaces: removed ${removed.length}${size}${skipped}\n`);
  if (kept.length > 0) {
    const bytes = kept.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const names = kept.map(({ name }) => name).join(', ');
    context.stdout(`saved checkouts: kept ${kept.length} (${formatBytes(bytes)}): ${names}\n`);
  }
  context.stdout(undeletedWords(undeleted));
}

async function verify(parts: CacheParts, context: CliContext, json: boolean): Promise<void> {
  const { faults, removed, skipped } = await parts.verify();
  if (faults.length > 0) context.exitCode = ERRORS['io-error'].exit;
  if (json) return printJson(context, { faults, removed, skipped });
  const lines = [
    ...removed.map((what) => `removed ${what}`),
    ...skipped.map((what) => `skipped, in use: ${what}`),
    ...(faults.length > 0 ? faults : ['no faults']),
  ];
  context.stdout(lines.map((line) => `${line}\n`).join(''));
}
