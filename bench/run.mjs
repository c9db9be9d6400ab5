// Bundles one bench and runs it: `node bench/run.mjs queue`. Node 20 reads no TypeScript by itself.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const [name = '', ...args] = process.argv.slice(2);
const external = ['better-sqlite3', 'fs-native-extensions', 'ssh2', 'piscina', 'pino', 'proper-lockfile'];
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  build: {
    ssr: true,
    outDir: path.join(root, 'dist/bench'),
    emptyOutDir: false,
    target: 'node20',
    rollupOptions: {
      input: { [name]: path.join(root, 'bench', `${name}.ts`) },
      external,
      output: { format: 'esm', entryFileNames: '[name].js', codeSplitting: false },
    },
  },
  ssr: { noExternal: true, external },
});
const file = path.join(root, 'dist/bench', `${name}.js`);
process.exitCode = spawnSync(process.execPath, [file, ...args], { stdio: 'inherit' }).status ?? 1;
