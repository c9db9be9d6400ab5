# Sourced by the built-in install scripts. One of them runs at a time on a host, and each may be run again
# over what a killed one left: what is unpacked stands in `scratch` until it is whole, and is then moved.
set -eu

bin=$VOLE_TOOLS/bin
scratch=$VOLE_TOOLS/scratch
rm -rf "$scratch"
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$bin" "$scratch"

fail() {
  echo "$*" >&2
  exit 1
}

# The path of a program of the host: on PATH, outside of tools/bin.
on_host() {
  (
    set -f
    IFS=:
    for folder in $PATH; do
      if [ "$folder" != "$bin" ] && [ -f "$folder/$1" ] && [ -x "$folder/$1" ]; then
        printf '%s\n' "$folder/$1"
        exit 0
      fi
    done
    exit 1
  )
}

# Puts a program into tools/bin, in place of what has its name there.
link() {
  ln -s "$2" "$scratch/link-$1"
  mv -fT "$scratch/link-$1" "$bin/$1"
}

need() {
  for program in "$@"; do
    command -v "$program" >/dev/null || fail "$program is not on this host, and is needed to install $what"
  done
}

# Moves a whole folder to where it is used.
place() {
  rm -rf "$2"
  mkdir -p "${2%/*}"
  mv "$1" "$2"
}

fetch() {
  need curl
  echo "fetching $1"
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$2" "$1" ||
    fail "cannot fetch $1"
}

# Of a file, by sha256sum or sha512sum.
verify() {
  printf '%s  %s\n' "$3" "$2" | "$1" --check --status - || fail "$2 does not have the checksum that its publisher names"
  echo "checksum verified: ${2##*/}"
}
