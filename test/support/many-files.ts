import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** Makes so many empty files below a folder, 500 in each of its own. */
export function manyFiles(folder: string, count: number): void {
  const script = 'for d in $(seq 1 "$1"); do mkdir "d$d"; (cd "d$d" && seq 1 500 | xargs touch); done';
  mkdirSync(folder, { recursive: true });
  execFileSync('sh', ['-c', script, 'sh', `${count / 500}`], { cwd: folder });
}
