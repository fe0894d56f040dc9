#!/usr/bin/env bash
# Builds the optimized berth from the current commit in two new folders with long and short names, and compares the results. Fails
# when they differ, or when one has a path of the builder in it.
#
#   hack/reproducible.sh            the program of `make release`, and the static one of the image
#   hack/reproducible.sh static     one of them: release or static
set -euo pipefail
cd "$(dirname "$0")/.."

kinds=("$@")
[ $# -gt 0 ] || kinds=(release static)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=$work/a
second=$work/a-folder-with-a-longer-name
hack/setup.sh musl
# Both before either is built, so that a commit that is made meanwhile is in neither.
for folder in "$first" "$second"; do
  git clone --quiet --no-hardlinks . "$folder"
done
for folder in "$first" "$second"; do
  for kind in "${kinds[@]}"; do
    echo "== building $kind in $folder"
    make -C "$folder" "$kind" CARGO_TARGET_DIR="$folder/target"
  done
  mkdir "$folder/built"
  for kind in "${kinds[@]}"; do
    case "$kind" in
      release) cp "$folder/target/release/berth" "$folder/built/release" ;;
      static) cp "$folder"/target/*-unknown-linux-*/release/berth "$folder/built/static" ;;
    esac
  done
  rm -rf "$folder/target"
done

for kind in "${kinds[@]}"; do
  for folder in "$first" "$second"; do
    binary=$folder/built/$kind
    sha256sum "$binary"
    for path in "$work" "${CARGO_HOME:-$HOME/.cargo}"; do
      if grep --quiet --fixed-strings "$path" "$binary"; then
        echo "the binary has $path in it:" >&2
        strings "$binary" | grep --fixed-strings "$path" | head -n 5 >&2
        exit 1
      fi
    done
  done
  cmp "$first/built/$kind" "$second/built/$kind"
  echo "$kind: both builds are the same, and have no path of the builder in them"
done
