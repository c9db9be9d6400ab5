// Builds dist/: the main program, the worker thread's file and the file thread's file, each a
// bundle of its own, since what a thread loads is what every slot pays in memory; and the install
// scripts of agent runs as they are. With --test also
// the child programs that tests start as processes of their own.
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const native = ['better-sqlite3', 'fs-native-extensions', 'ssh2', 'piscina', 'pino', 'proper-lockfile'];
// Optional ones, loaded by who needs them.
const optional = ['@opencode-ai/sdk/v2/client'];
const external = [...builtinModules, ...builtinModules.map((name) => `node:${name}`), ...native, ...optional];

/**
 * One bundle: `input` is a file under the root, `name` its name under dist/ without `.js`. The main
 * program alone is split, at its dynamic imports, so that `vole --help` does not load a database;
 * its chunks stand beside it, so that paths relative to `import.meta.url` hold in all of them.
 */
async function bundle(input, name, emptyOutDir = false) {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      ssr: true,
      outDir: path.join(root, 'dist'),
      emptyOutDir,
      target: 'node20',
      minify: name === 'main' ? false : 'oxc',
      sourcemap: true,
      rollupOptions: {
        input: { [name]: path.join(root, input) },
        external,
        output: {
          format: 'esm',
          entryFileNames: '[name].js',
          chunkFileNames: 'main-[name]-[hash].js',
          codeSplitting: name === 'main',
        },
      },
    },
    ssr: { noExternal: true, external: [...native, '@opencode-ai/sdk'] },
  });
}

await bundle('src/main.ts', 'main', true);
await bundle('src/worker/main.ts', 'worker');
await bundle('src/worker/spawner/entry.ts', 'spawner');
await bundle('src/worker/bench-task.ts', 'bench-task');
await bundle('src/runner/dir/file-thread-entry.ts', 'file-thread');
await bundle('src/runner/agent/search/entry.ts', 'search');
cpSync(path.join(root, 'src/worker/agent/tools/scripts'), path.join(root, 'dist/install-scripts'), {
  recursive: true,
});
if (process.argv.includes('--test')) {
  const folder = path.join(root, 'test/support/children');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  for (const file of files.filter((file) => file.endsWith('.ts'))) {
    await bundle(`test/support/children/${file}`, `test/${path.basename(file, '.ts')}`);
  }
}
