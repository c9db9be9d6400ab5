#!/bin/sh
# The .NET SDK of VOLE_DOTNET_CHANNEL: the host's where it has one, else the latest of the channel.
what='the .NET SDK'
. "${0%/*}/common.sh"

# Even-numbered releases are the ones with long support.
case $VOLE_DOTNET_CHANNEL in
  LTS | lts) wanted='^[0-9]*[02468]\.' ;;
  STS | sts) wanted='^[0-9]*[13579]\.' ;;
  *xx) wanted="^$(printf %s "${VOLE_DOTNET_CHANNEL%xx}" | sed 's/\./\\./g')[0-9][0-9] " ;;
  *) wanted="^$(printf %s "$VOLE_DOTNET_CHANNEL" | sed 's/\./\\./g')\." ;;
esac

if dotnet=$(on_host dotnet) && "$dotnet" --list-sdks 2>/dev/null | grep -q "$wanted"; then
  link dotnet "$dotnet"
  echo ".NET SDK of this host: $dotnet"
  exit 0
fi

case $(uname -m) in
  x86_64 | amd64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no .NET SDK to fetch for $(uname -m)" ;;
esac
rid=linux-$arch
if ls /lib/ld-musl-* >/dev/null 2>&1; then rid=linux-musl-$arch; fi
need tar gzip sha512sum
fetch https://builds.dotnet.microsoft.com/dotnet/release-metadata/releases-index.json "$scratch/index.json"
releases=$("$VOLE_NODE" "${0%/*}/dotnet-release.mjs" index "$scratch/index.json" "$VOLE_DOTNET_CHANNEL")
fetch "$releases" "$scratch/releases.json"
sdk=$("$VOLE_NODE" "${0%/*}/dotnet-release.mjs" sdk "$scratch/releases.json" "$VOLE_DOTNET_CHANNEL" "$rid")
# Of one line: version, checksum, address.
version=${sdk%% *}
rest=${sdk#* }
home=$VOLE_TOOLS/dotnet/$version
if ! [ -x "$home/dotnet" ]; then
  fetch "${rest#* }" "$scratch/sdk.tar.gz"
  verify sha512sum "$scratch/sdk.tar.gz" "${rest%% *}"
  mkdir "$scratch/sdk"
  tar -xzf "$scratch/sdk.tar.gz" -C "$scratch/sdk" --no-same-owner
  place "$scratch/sdk" "$home"
fi
link dotnet "$home/dotnet"
"$bin/dotnet" --version || fail "the .NET SDK that was fetched does not run on this host"
echo ".NET SDK: $home"
