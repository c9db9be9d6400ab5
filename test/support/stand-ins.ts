import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What the built-in scripts may use of a host, beside what they are to find there or not. */
const BARE = 'sh rm mkdir mv ln uname tar gzip sha256sum sha512sum sed ls cut cat env grep head'.split(' ');

/** A host's programs in a folder that is all of PATH: bare ones, and stand-ins for what would need a network. */
export class StandIns {
  readonly bin: string;
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
    this.bin = path.join(dir, 'host-bin');
    mkdirSync(this.bin, { recursive: true });
    for (const name of BARE) symlinkSync(programPath(name), path.join(this.bin, name));
  }

  program(name: string, text: string): string {
    return executable(path.join(this.bin, name), text);
  }

  /**
   * `curl` as the scripts call it, which has these texts and files at these addresses and says 404 of all
   * others. As the real one does, it writes what has come so far: `cut` is an address whose transfer breaks.
   */
  curl(site: Readonly<Record<string, string | Buffer>>, cut = 'none'): void {
    const served = path.join(this.#dir, 'site');
    for (const [url, content] of Object.entries(site)) {
      const file = path.join(served, url.replace('https://', ''));
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    this.program(
      'curl',
      [
        '#!/bin/sh',
        'proto= out= url=',
        'while [ $# -gt 0 ]; do case $1 in',
        '  --proto) proto=$2; shift ;; --retry) shift ;; --output) out=$2; shift ;; -*) ;; *) url=$1 ;;',
        'esac; shift; done',
        `echo "$url" >>${this.#dir}/fetched`,
        'case $url in https://*) ;; *) [ "$proto" = "=https" ] && { echo "curl: (1) Protocol not supported" >&2; exit 1; } ;; esac',
        `file=${served}/\${url#https://}`,
        '[ -f "$file" ] || { echo "curl: (22) The requested URL returned error: 404" >&2; exit 22; }',
        `if [ "$url" = "${cut}" ]; then head -c 20 "$file" >"$out"; echo "curl: (18) transfer closed" >&2; exit 18; fi`,
        'cat "$file" >"$out"',
        '',
      ].join('\n'),
    );
  }

  /** Addresses that `curl` was asked for. */
  get fetched(): string[] {
    const file = path.join(this.#dir, 'fetched');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  }

  /** An archive of executable programs, by their paths in it. */
  archive(programs: Readonly<Record<string, string>>): Buffer {
    const folder = path.join(this.#dir, `archive-${Math.random().toString(36).slice(2)}`);
    for (const [name, text] of Object.entries(programs)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      executable(path.join(folder, name), text);
    }
    return execFileSync('tar', ['-czf', '-', '-C', folder, '.'], { maxBuffer: 1e8 });
  }
}

export function digest(algorithm: 'sha256' | 'sha512', content: Buffer): string {
  return createHash(algorithm).update(content).digest('hex');
}

/** The text of a program that is another one. */
export function same(program: string): string {
  return `#!/bin/sh\nexec ${program} "$@"\n`;
}

/** `uv`, whose Pythons are shell scripts; the host has those that are given. */
export function uvText(host: Readonly<Record<string, string>> = {}): string {
  const known = Object.entries(host).map(([version, file]) => `${version}) echo ${file}; exit 0 ;;`);
  return [
    '#!/bin/sh',
    'case "$1 $2" in',
    '"python find")',
    '  home=$UV_PYTHON_INSTALL_DIR/cpython-$3/bin/python3',
    '  if [ -x "$home" ]; then echo "$home"; exit 0; fi',
    `  case $3 in ${known.join(' ')} esac`,
    '  echo "error: No interpreter found for Python $3" >&2; exit 2 ;;',
    '"python install")',
    '  case $3 in 9.*) echo "error: No download found for request: cpython-$3" >&2; exit 2 ;; esac',
    '  mkdir -p "$UV_PYTHON_INSTALL_DIR/cpython-$3/bin"',
    '  file=$UV_PYTHON_INSTALL_DIR/cpython-$3/bin/python3',
    '  printf \'#!/bin/sh\\necho "Python %s"\\n\' "$3" >"$file"; /bin/chmod +x "$file" ;;',
    '*) exit 2 ;;',
    'esac',
    '',
  ].join('\n');
}

function executable(file: string, text: string): string {
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

function programPath(name: string): string {
  const folder = ['/usr/bin', '/bin', '/usr/local/bin'].find((one) => existsSync(path.join(one, name)));
  if (folder === undefined) throw new Error(`${name} is not on this host`);
  return path.join(folder, name);
}
