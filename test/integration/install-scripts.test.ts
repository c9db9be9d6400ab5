import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digest, StandIns, same, uvText } from '../support/stand-ins.ts';
import { type ToolsOptions, ToolsRig } from '../support/tools-rig.ts';

let tools: ToolsRig;
let host: StandIns;
beforeEach(() => {
  tools = new ToolsRig();
  host = new StandIns(tools.rig.dir);
});
afterEach(() => tools.close());

const at = (name: string): string => path.join(tools.rig.tools, name);
const says = (program: string, ...args: string[]): string =>
  execFileSync(at(`bin/${program}`), args, {
    encoding: 'utf8',
    env: { PATH: `${at('bin')}:${host.bin}` },
  }).trim();

/** On a host that has nothing but the stand-ins. */
async function installs(name: string, options: ToolsOptions = {}): Promise<string> {
  const { outcome } = await tools.run([name], { baseEnv: { PATH: host.bin }, ...options });
  // Whatever came of it, nothing half unpacked is left.
  expect(existsSync(at('scratch'))).toBe(false);
  return outcome.detail;
}

/** Forgets that it has succeeded. */
const forget = (): void => rmSync(at('stamps'), { recursive: true, force: true });

const arch = process.arch === 'arm64' ? 'arm64' : 'x64';
const musl = existsSync('/lib') && readdirSync('/lib').some((name) => name.startsWith('ld-musl-'));

describe('the install script node', () => {
  const dist = 'https://nodejs.org/dist/latest-v22.x';
  const name = `node-v22.30.0-linux-${arch}`;
  const archive = () =>
    host.archive({
      [`${name}/bin/node`]: same(process.execPath),
      [`${name}/bin/npm`]: '#!/bin/sh\necho npm of 22\n',
    });
  const sums = (content: Buffer) =>
    `${'0'.repeat(64)}  node-v22.30.0-aix-ppc64.tar.gz\n${digest('sha256', content)}  ${name}.tar.gz\n${'1'.repeat(64)}  ${name}.tar.xz\n`;

  it('takes that of this host, which is really there, and fetches nothing', async () => {
    const { outcome } = await tools.run(['node'], {});
    expect(outcome.detail).toBe('');
    expect(says('node', '--version')).toBe(process.version);
    expect(execFileSync(at('bin/npm'), ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\./);
    expect(readlinkSync(at('bin/node'))).not.toContain(tools.rig.tools);
    // A second time it must not find its own link.
    forget();
    expect((await tools.run(['node'])).outcome.detail).toBe('');
    expect(says('node', '--version')).toBe(process.version);
  });

  it('fetches one, checked against its checksum, where the host has none or one that is too old', async () => {
    host.program('node', '#!/bin/sh\nexit 1\n');
    host.program('npm', '#!/bin/sh\necho npm of the host\n');
    const content = archive();
    host.curl({ [`${dist}/SHASUMS256.txt`]: sums(content), [`${dist}/${name}.tar.gz`]: content });
    expect(await installs('node')).toBe('');
    expect([says('node', '--version'), says('npm')]).toEqual([process.version, 'npm of 22']);
    expect(host.fetched).toEqual([`${dist}/SHASUMS256.txt`, `${dist}/${name}.tar.gz`]);
    forget();
    expect(await installs('node')).toBe('');
    expect(host.fetched.slice(2)).toEqual([`${dist}/SHASUMS256.txt`]);
  });

  it('installs nothing that has another checksum, that comes in part or does not come', async () => {
    const content = archive();
    const site = {
      [`${dist}/SHASUMS256.txt`]: sums(Buffer.from('another')),
      [`${dist}/${name}.tar.gz`]: content,
    };
    host.curl(site);
    expect(await installs('node')).toMatch(/does not have the checksum that its publisher names$/);
    host.curl({ [`${dist}/SHASUMS256.txt`]: sums(content) }, `${dist}/${name}.tar.gz`);
    expect(await installs('node')).toMatch(
      /exit 1: .*curl: \(18\) transfer closed; cannot fetch https:.*tar\.gz$/,
    );
    host.curl({ [`${dist}/SHASUMS256.txt`]: 'nothing of use' });
    expect(await installs('node')).toContain('lists no archive for linux-');
    expect([readdirSync(at('bin')), existsSync(at('node'))]).toEqual([[], false]);
  });

  it('says that curl is missing', async () => {
    expect(await installs('node')).toBe(
      'install script node failed with exit 1: curl is not on this host, and is needed to install Node.js',
    );
  });
});

describe('the install script python', () => {
  const triple = `uv-${arch === 'x64' ? 'x86_64' : 'aarch64'}-unknown-linux-${musl ? 'musl' : 'gnu'}`;
  const from = `https://github.com/astral-sh/uv/releases/latest/download/${triple}.tar.gz`;

  it('takes uv and Python of this host', async () => {
    const uv = host.program(
      'uv',
      uvText({ '3.13': host.program('python3.13', '#!/bin/sh\necho Python of host\n') }),
    );
    expect(await installs('python')).toBe('');
    expect([readlinkSync(at('bin/uv')), says('python'), says('python3')]).toEqual([
      uv,
      'Python of host',
      'Python of host',
    ]);
  });

  it('has uv install the version that is set, and another one where that is set', async () => {
    host.program('uv', uvText());
    expect(await installs('python')).toBe('');
    expect([says('python', '--version'), says('python3')]).toEqual(['Python 3.13', 'Python 3.13']);
    expect(readlinkSync(at('bin/python'))).toBe(at('python/cpython-3.13/bin/python3'));
    expect(await installs('python', { pythonVersion: '3.12' })).toBe('');
    expect(says('python')).toBe('Python 3.12');
    expect(await installs('python', { pythonVersion: '9.9' })).toMatch(
      /exit 1: .*error: No download found for request: cpython-9\.9; uv cannot install Python 9\.9$/,
    );
  });

  it('fetches uv where there is none, checked against its checksum, and once', async () => {
    const content = host.archive({ [`${triple}/uv`]: uvText(), [`${triple}/uvx`]: '#!/bin/sh\necho uvx\n' });
    host.curl({ [from]: content, [`${from}.sha256`]: `${digest('sha256', content)} *${triple}.tar.gz\n` });
    expect(await installs('python')).toBe('');
    expect([says('python'), says('uvx')]).toEqual(['Python 3.13', 'uvx']);
    forget();
    expect(await installs('python')).toBe('');
    expect(host.fetched).toEqual([`${from}.sha256`, from]);
  });

  it('installs no uv that has another checksum', async () => {
    const content = host.archive({ [`${triple}/uv`]: uvText() });
    host.curl({ [from]: content, [`${from}.sha256`]: `${'0'.repeat(64)} *${triple}.tar.gz\n` });
    expect(await installs('python')).toMatch(/does not have the checksum that its publisher names$/);
    expect([readdirSync(at('bin')), existsSync(at('uv'))]).toEqual([[], false]);
  });
});

describe('the install script dotnet', () => {
  const metadata = 'https://builds.dotnet.microsoft.com/dotnet/release-metadata';
  const rid = `linux-${musl ? 'musl-' : ''}${arch}`;

  /** As published: the latest first, each with SDKs of several bands. */
  function site(hashOf = (content: Buffer) => digest('sha512', content)): Record<string, string | Buffer> {
    const served: Record<string, string | Buffer> = {};
    const sdk = (version: string) => {
      const url = `https://builds.dotnet.microsoft.com/dotnet/Sdk/${version}/dotnet-sdk-${version}-${rid}.tar.gz`;
      const content = host.archive({ dotnet: `#!/bin/sh\necho ${version}\n` });
      served[url] = content;
      const windows = { name: 'dotnet-sdk-win-x64.zip', rid: 'win-x64', url: `${url}.zip`, hash: '0' };
      return {
        version,
        files: [windows, { name: `dotnet-sdk-${rid}.tar.gz`, rid, url, hash: hashOf(content).toUpperCase() }],
      };
    };
    const channel = (version: string, type: string, phase: string, sdks: string[]) => {
      const releases = `${metadata}/${version}/releases.json`;
      const made = sdks.map(sdk);
      served[releases] = JSON.stringify({
        'channel-version': version,
        'latest-sdk': sdks[0],
        releases: [{ sdk: made[0], sdks: made }],
      });
      return {
        'channel-version': version,
        'release-type': type,
        'support-phase': phase,
        'releases.json': releases,
      };
    };
    served[`${metadata}/releases-index.json`] = JSON.stringify({
      'releases-index': [
        channel('12.0', 'lts', 'preview', ['12.0.100-preview.1']),
        channel('11.0', 'sts', 'active', ['11.0.102']),
        channel('10.0', 'lts', 'active', ['10.0.204', '10.0.109']),
        channel('6.0', 'lts', 'eol', ['6.0.428']),
      ],
    });
    return served;
  }

  it.each([
    ['LTS', '10.0.204'],
    ['STS', '11.0.102'],
    ['10.0', '10.0.204'],
    ['10.0.1xx', '10.0.109'],
    ['6.0', '6.0.428'],
  ])('fetches the latest of channel %s, checked against its checksum', async (dotnetChannel, version) => {
    host.curl(site());
    expect(await installs('dotnet', { dotnetChannel })).toBe('');
    expect(says('dotnet', '--version')).toBe(version);
    expect(host.fetched).toHaveLength(3);
    forget();
    expect(await installs('dotnet', { dotnetChannel })).toBe('');
    expect(host.fetched).toHaveLength(5);
  });

  it.each([
    ['LTS', true],
    ['STS', false],
    ['8.0', true],
    ['8.0.1xx', true],
    ['8.0.2xx', false],
    ['9.0', false],
  ])('of channel %s takes that of a host with 8.0.110: %s', async (dotnetChannel, taken) => {
    host.program('dotnet', '#!/bin/sh\n[ "$1" = --list-sdks ] && echo "8.0.110 [/usr/lib/dotnet/sdk]"\n');
    host.curl({});
    const detail = await installs('dotnet', { dotnetChannel });
    expect([detail === '', host.fetched.length === 0]).toEqual([taken, taken]);
  });

  it('installs nothing that has another checksum, and says that a channel is not there', async () => {
    host.curl(site(() => 'ab'.repeat(64)));
    expect(await installs('dotnet')).toMatch(/does not have the checksum that its publisher names$/);
    expect(await installs('dotnet', { dotnetChannel: '7.0' })).toMatch(/there is no channel 7\.0 of \.NET$/);
    expect(await installs('dotnet', { dotnetChannel: '10.0.9xx' })).toMatch(
      /there is no SDK of channel 10\.0\.9xx for linux-/,
    );
    expect([readdirSync(at('bin')), existsSync(at('dotnet'))]).toEqual([[], false]);
  });
});

it('an install script that was killed half done is gone over again', async () => {
  mkdirSync(at('scratch/link-uv'), { recursive: true });
  mkdirSync(at('uv'), { recursive: true });
  host.program('uv', uvText());
  expect(await installs('python')).toBe('');
  expect(says('python')).toBe('Python 3.13');
});
