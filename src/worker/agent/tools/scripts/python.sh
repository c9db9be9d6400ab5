#!/bin/sh
# uv, and the Python of VOLE_PYTHON_VERSION: the host's where uv finds it, else one that uv installs.
what=uv
. "${0%/*}/common.sh"

if uv=$(on_host uv); then
  link uv "$uv"
  if uvx=$(on_host uvx); then link uvx "$uvx"; fi
  echo "uv of this host: $uv"
elif [ -x "$VOLE_TOOLS/uv/uv" ]; then
  link uv "$VOLE_TOOLS/uv/uv"
  if [ -x "$VOLE_TOOLS/uv/uvx" ]; then link uvx "$VOLE_TOOLS/uv/uvx"; fi
  echo "uv: $VOLE_TOOLS/uv"
else
  case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) fail "there is no uv to fetch for $(uname -m)" ;;
  esac
  need tar gzip sha256sum cut ls
  libc=gnu
  if ls /lib/ld-musl-* >/dev/null 2>&1; then libc=musl; fi
  name=uv-$arch-unknown-linux-$libc
  from=https://github.com/astral-sh/uv/releases/latest/download
  fetch "$from/$name.tar.gz.sha256" "$scratch/sum"
  fetch "$from/$name.tar.gz" "$scratch/$name.tar.gz"
  verify sha256sum "$scratch/$name.tar.gz" "$(cut -d ' ' -f 1 "$scratch/sum")"
  tar -xzf "$scratch/$name.tar.gz" -C "$scratch" --no-same-owner
  place "$scratch/$name" "$VOLE_TOOLS/uv"
  link uv "$VOLE_TOOLS/uv/uv"
  if [ -x "$VOLE_TOOLS/uv/uvx" ]; then link uvx "$VOLE_TOOLS/uv/uvx"; fi
fi

export UV_PYTHON_INSTALL_DIR="$VOLE_TOOLS/python" UV_CACHE_DIR="$VOLE_TOOLS/cache/uv"
# What stands in tools/bin is a link of an earlier time, which must not be linked to itself.
find_python() {
  PATH=${PATH#"$bin:"} "$bin/uv" python find "$VOLE_PYTHON_VERSION" 2>/dev/null
}

if ! python=$(find_python); then
  "$bin/uv" python install "$VOLE_PYTHON_VERSION" || fail "uv cannot install Python $VOLE_PYTHON_VERSION"
  python=$(find_python) || fail "uv does not find the Python $VOLE_PYTHON_VERSION that it installed"
fi
link python3 "$python"
link python "$python"
"$bin/python3" --version
echo "Python: $python"
