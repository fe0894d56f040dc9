#!/usr/bin/env bash
# Writes a bill of materials (CycloneDX 1.5, JSON) of the current commit for each release target to target/sbom, with cargo-cyclonedx.
# Fails when one lacks a package that is linked into berth.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/setup.sh cargo-cyclonedx
PATH="$(dirname "$(hack/setup.sh where-cargo-cyclonedx)"):$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A copy, because a bill is written beside every manifest of the workspace.
git clone --quiet --no-hardlinks . "$work/berth"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p target/sbom

# linked TARGET: name and version of each package of others in the program.
linked() {
  cargo tree --manifest-path "$work/berth/Cargo.toml" --locked -p berth --edges normal,no-proc-macro --target "$1" --prefix none \
    --format '{p}' | awk '!/ \(\// { print $1 "@" substr($2, 2) }' | sort -u
}

for target in $(sed -n 's/^pub const TARGETS: .* = \[\(.*\)\];$/\1/p' e2e/image/src/packages.rs | tr -d '",'); do
  (cd "$work/berth" && cargo cyclonedx --quiet --manifest-path crates/berth/Cargo.toml --format json --spec-version 1.5 --target "$target" \
    --no-build-deps --override-filename sbom)
  bill=target/sbom/berth-$target.cdx.json
  # The folder of the copy is of no use to anybody.
  sed "s|file://$work/berth|file:///berth|g" "$work/berth/crates/berth/sbom.json" >"$bill"
  missing=$(comm -23 <(linked "$target") <(grep -o 'pkg:cargo/[^"?]*' "$bill" | sed 's|pkg:cargo/||' | sort -u))
  if [ -n "$missing" ]; then
    echo "$bill lacks:" $missing >&2
    exit 1
  fi
  echo "$bill: $(linked "$target" | wc -l) packages of others are in berth"
done
