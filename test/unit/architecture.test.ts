import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** Which rooms a room may import; its own is always allowed. The same table stands in docs/architecture.md. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  worker: ['shared'],
  runner: ['shared'],
  server: ['shared'],
  cli: ['runner', 'server', 'shared'],
  main: ['cli'],
};

/** Packages and modules that one place alone may import. */
const ONE_IMPORTER: Readonly<Record<string, readonly string[]>> = {
  piscina: ['src/runner/pool/'],
  ssh2: ['src/runner/session/', 'src/server/ssh/'],
  'proper-lockfile': ['src/shared/lock/'],
  'fs-native-extensions': ['src/shared/lock/'],
  'better-sqlite3': ['src/server/store/'],
  execa: ['src/shared/platform/'],
  child_process: ['src/shared/platform/'],
  commander: ['src/cli/'],
  hono: ['src/server/web/'],
  '@hono/node-server': ['src/server/web/'],
  yaml: ['src/shared/workflow/'],
  '@opencode-ai/sdk': ['src/worker/agent/opencode/'],
};

interface Module {
  readonly file: string;
  readonly room: string;
  readonly lines: number;
  readonly text: string;
  /** Specifiers of static, dynamic and type imports and of re-exports. */
  readonly imports: readonly string[];
}

/** Without comments, so that an import that is only spoken of does not count. Strings keep their slashes. */
function withoutComments(text: string): string {
  return text.replace(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\/\*[\s\S]*?\*\/|(^|[\s;{}(),])\/\/[^\n]*/g,
    (_, string, before) => string ?? before ?? '',
  );
}

function importsOf(text: string): string[] {
  const code = withoutComments(text);
  const pattern =
    /(?:^|[\s;}])(?:import|export)\b[^'"`;()]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*[,)]|\brequire\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [...code.matchAll(pattern)].flatMap((match) => match.slice(1).filter((part) => part !== undefined));
}

function filesBelow(folder: string): string[] {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)
    .sort();
}

function readModule(file: string): Module {
  const text = readFileSync(path.join(root, file), 'utf8');
  const room = file === 'src/main.ts' ? 'main' : (file.split('/')[1] ?? '');
  return { file, room, lines: text.split('\n').length - 1, text, imports: importsOf(text) };
}

const modules = filesBelow('src').map(readModule);
const byFile = new Map(modules.map((module) => [module.file, module]));

function localTarget(module: Module, specifier: string): string | null {
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(module.file), specifier) : null;
}

function packageOf(specifier: string): string {
  const parts = specifier.replace(/^node:/, '').split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

describe('the scan', () => {
  it('found modules in every room, and imports in them', () => {
    for (const room of Object.keys(ROOMS)) {
      expect(modules.filter((module) => module.room === room).length, room).toBeGreaterThan(0);
    }
    expect(modules.flatMap(({ imports }) => imports).length).toBeGreaterThan(modules.length);
  });

  it('reads every form of import, and none that stands in a comment', () => {
    const text = `
      import a from 'a'; import type { B } from "b";
      import {
        c,
      } from 'c';
      export * from './d.ts'; export { e } from 'e'
      import 'f'; const g = await import('g'); const h = require('h');
      // import x from 'no1'
      /* import y from 'no2' */
      const url = 'http://i'; import j from 'j';
    `;
    expect(importsOf(text)).toEqual(['a', 'b', 'c', './d.ts', 'e', 'f', 'g', 'h', 'j']);
  });
});

describe('every module', () => {
  it('stands in a room', () => {
    expect(modules.filter(({ room }) => !(room in ROOMS)).map(({ file }) => file)).toEqual([]);
  });

  it('imports only the rooms that its own may', () => {
    const wrong = modules.flatMap((module) =>
      module.imports.flatMap((specifier) => {
        const target = localTarget(module, specifier);
        if (target === null) return [];
        const found = byFile.get(target);
        if (!found) return [`${module.file} imports ${specifier}, which is not there`];
        const allowed = found.room === module.room || ROOMS[module.room]?.includes(found.room);
        return allowed ? [] : [`${module.file} imports ${target}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('leaves to one place what one place alone may import', () => {
    const wrong = modules.flatMap((module) =>
      module.imports.flatMap((specifier) => {
        const places = specifier.startsWith('.') ? undefined : ONE_IMPORTER[packageOf(specifier)];
        return !places || places.some((place) => module.file.startsWith(place))
          ? []
          : [`${module.file} imports ${specifier}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('has at most 400 lines', () => {
    const files = [...modules, ...[...filesBelow('test'), ...filesBelow('bench')].map(readModule)];
    expect(files.filter(({ lines }) => lines > 400).map(({ file, lines }) => `${file}: ${lines}`)).toEqual(
      [],
    );
  });

  it('leaves the environment to the command line', () => {
    const readers = modules.filter(({ text }) => withoutComments(text).includes('process.env'));
    expect(
      readers.map(({ file }) => file).filter((file) => !/^src\/(cli|shared\/settings)\//.test(file)),
    ).toEqual([]);
  });

  it('is in no circle of imports', () => {
    expect(findCircle()).toEqual([]);
  });
});

function findCircle(): string[] {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (file: string): string[] => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return [];
    trail.push(file);
    const module = byFile.get(file);
    for (const specifier of module?.imports ?? []) {
      const target = module ? localTarget(module, specifier) : null;
      const circle = target === null ? [] : visit(target);
      if (circle.length > 0) return circle;
    }
    trail.pop();
    done.add(file);
    return [];
  };
  for (const { file } of modules) {
    const circle = visit(file);
    if (circle.length > 0) return circle;
  }
  return [];
}
