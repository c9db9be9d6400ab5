// Reads what Microsoft publishes of .NET's releases, for dotnet.sh. Arguments: `index` FILE CHANNEL prints the
// address of the channel's releases; `sdk` FILE CHANNEL RID prints version, SHA-512 and address of its latest SDK.
import { readFileSync } from 'node:fs';

const [what, file, channel, rid] = process.argv.slice(2);
const read = JSON.parse(readFileSync(file, 'utf8'));

function fail(why) {
  console.error(why);
  process.exit(1);
}

/** Nothing else may reach a command line, whatever is published. */
function checked(text, pattern, name) {
  if (typeof text !== 'string' || !pattern.test(text)) fail(`what is published has no ${name}`);
  return String(text);
}

const HTTPS = /^https:\/\/[A-Za-z0-9.-]+\/[A-Za-z0-9._/-]+$/;

if (what === 'index') {
  const supported = read['releases-index'].filter((entry) =>
    ['active', 'maintenance'].includes(entry['support-phase']),
  );
  const type = channel.toLowerCase();
  const version = /^\d+\.\d+/.exec(channel)?.[0];
  const entry =
    type === 'lts' || type === 'sts'
      ? supported.find((one) => one['release-type'] === type)
      : read['releases-index'].find((one) => one['channel-version'] === version);
  if (!entry) fail(`there is no channel ${channel} of .NET`);
  console.log(checked(entry['releases.json'], HTTPS, 'releases'));
} else {
  const band = /^(\d+\.\d+\.\d)xx$/.exec(channel)?.[1];
  const sdks = read.releases.flatMap((release) => release.sdks ?? [release.sdk]);
  const sdk = band
    ? sdks.find(({ version }) => version.startsWith(band) && /^\d+\.\d+\.\d{3}$/.test(version))
    : sdks.find(({ version }) => version === read['latest-sdk']);
  const archive = sdk?.files.find((one) => one.rid === rid && one.name.endsWith('.tar.gz'));
  if (!archive) fail(`there is no SDK of channel ${channel} for ${rid}`);
  const version = checked(sdk.version, /^[0-9A-Za-z.-]+$/, 'version');
  const hash = checked(archive.hash, /^[0-9A-Fa-f]{128}$/, 'checksum');
  console.log(`${version} ${hash.toLowerCase()} ${checked(archive.url, HTTPS, 'address')}`);
}
