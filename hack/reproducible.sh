#!/usr/bin/env bash
# Builds the optimized berth from the current commit in two new folders with long and short names, and compares the results. Fails
# when they differ, or when one has a path of the builder in it.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=$work/a
second=$work/a-folder-with-a-longer-name
for folder in "$first" "$second"; do
  git clone --quiet --no-hardlinks . "$folder"
  echo "== building in $folder"
  make -C "$folder" release CARGO_TARGET_DIR="$folder/target"
done

for folder in "$first" "$second"; do
  binary=$folder/target/release/berth
  sha256sum "$binary"
  for path in "$work" "${CARGO_HOME:-$HOME/.cargo}"; do
    if grep --quiet --fixed-strings "$path" "$binary"; then
      echo "the binary has $path in it:" >&2
      strings "$binary" | grep --fixed-strings "$path" | head -n 5 >&2
      exit 1
    fi
  done
done
cmp "$first/target/release/berth" "$second/target/release/berth"
echo "both builds are the same, and have no path of the builder in them"
