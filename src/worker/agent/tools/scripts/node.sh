#!/bin/sh
# Node.js with npm: the host's where it is of version 20 or later, else the latest of version 22.
what=Node.js
. "${0%/*}/common.sh"

usable() {
  "$1" -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' >/dev/null 2>&1
}

if node=$(on_host node) && on_host npm >/dev/null && usable "$node"; then
  for program in node npm npx corepack; do
    if found=$(on_host "$program"); then link "$program" "$found"; fi
  done
  echo "Node.js of this host: $node"
  exit 0
fi

case $(uname -m) in
  x86_64 | amd64) platform=linux-x64 ;;
  aarch64 | arm64) platform=linux-arm64 ;;
  *) fail "there is no Node.js to fetch for $(uname -m)" ;;
esac
need tar gzip sha256sum sed
from=https://nodejs.org/dist/latest-v22.x
fetch "$from/SHASUMS256.txt" "$scratch/sums"
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(node-v[0-9.]*-$platform\.tar\.gz\)$/\1/p" "$scratch/sums")
[ -n "$archive" ] || fail "$from lists no archive for $platform"
home=$VOLE_TOOLS/node/${archive%.tar.gz}
if ! [ -x "$home/bin/npm" ] || ! usable "$home/bin/node"; then
  fetch "$from/$archive" "$scratch/$archive"
  verify sha256sum "$scratch/$archive" "$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive$/\1/p" "$scratch/sums")"
  tar -xzf "$scratch/$archive" -C "$scratch" --no-same-owner
  place "$scratch/${archive%.tar.gz}" "$home"
fi
for program in node npm npx corepack; do
  if [ -e "$home/bin/$program" ]; then link "$program" "$home/bin/$program"; fi
done
usable "$bin/node" || fail "the Node.js that was fetched does not run on this host"
echo "Node.js: $home"
