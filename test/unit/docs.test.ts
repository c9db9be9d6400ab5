import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages } from '../../scripts/docs/pages.ts';
import { ERRORS } from '../../src/shared/errors.ts';
import { allSettings, envName } from '../../src/shared/settings/resolve.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

const documents = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Flags of other programs that the documents speak of. */
const FOREIGN = [
  '--env-file',
  '--fresh',
  '--help',
  '--ignore-scripts',
  '--init',
  '--kill-whom',
  '--mount-proc',
  '--noprofile',
  '--prefer-offline',
  '--rm',
  '--shared',
  '--spawn',
];

describe('generated pages', () => {
  it.each([...pages()])('%s is what the code says now; `npm run docs` writes it', (file, text) => {
    expect(read(file)).toBe(text);
  });

  it('document every setting and every error', () => {
    for (const [name] of allSettings())
      expect(read('docs/configuration.md')).toContain(`\`${envName(name)}\``);
    for (const code of Object.keys(ERRORS)) expect(read('docs/errors.md')).toContain(`\`${code}\``);
  });
});

describe('every document', () => {
  it.each(documents)('%s links only to what is there', (file) => {
    const links = [...read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)(#[^)]*)?\)/g)].map(
      ([, target = '']) => target,
    );
    const folder = path.dirname(path.join(root, file));
    expect(links.filter((target) => !existsSync(path.resolve(folder, target)))).toEqual([]);
  });

  it.each(documents)('%s names only flags that a command has', (file) => {
    const settings = allSettings()
      .filter(([, setting]) => !setting.secret)
      .map(([name]) => `--${name}`);
    const options = [...read('docs/cli.md').matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag);
    const known = new Set([...settings, ...options, ...FOREIGN]);
    const used = [...read(file).matchAll(/`(?:vole [^`]*?)?(--[a-z][a-z-]+)/g)].map(([, flag = '']) => flag);
    expect(used.filter((flag) => !known.has(flag))).toEqual([]);
  });
});

it('docs/agent.md says of every variable of AgentCI what became of it, and names no other', () => {
  const read = allSettings().flatMap(([, { otherEnv }]) => (otherEnv === undefined ? [] : [otherEnv]));
  const text = readFileSync(path.join(root, 'docs/agent.md'), 'utf8');
  const table = [...text.matchAll(/^\| ([^|]*AGENTCI_[^|]*) \| ([^|]+) \|/gm)];
  const told = table.flatMap(([, cell = '']) => [...cell.matchAll(/AGENTCI_\w+/g)].map(([name]) => name));
  expect(told.sort()).toEqual(read.sort());
  const flags = table.flatMap(([, , cell = '']) =>
    [...cell.matchAll(/`(--[a-z0-9-]+)`/g)].map(([, flag]) => flag),
  );
  const known = allSettings().map(([name]) => `--${name}`);
  expect(flags.filter((flag) => !known.includes(flag ?? ''))).toEqual([]);
});

it('the table of rooms in docs/architecture.md is the one that is checked', () => {
  const rows = [
    ...read('docs/architecture.md').matchAll(/^\| `?(\w+)(?:\.ts)?`? \| ([^|]+) \| ([^|]+) \|/gm),
  ];
  const table = Object.fromEntries(rows.map(([, room = '', , imports = '']) => [room, imports.trim()]));
  expect(table).toMatchObject({
    shared: 'nothing of ours',
    worker: 'shared',
    runner: 'shared; worker only by URL',
    server: 'shared',
    cli: 'runner, server, shared',
    main: 'cli',
  });
});
