#!/usr/bin/env bash
# Builds berth as one static program, with the list of its packages in it (cargo-auditable). The last line of its output is the target
# and the path of the program.
#
#   hack/static.sh release    optimized, for the image
#   hack/static.sh test       for `make test`: built in half of the time, for size instead of speed
#
# The target is that of musl where it is installed together with its C compiler; `hack/setup.sh musl` tries to get both. Elsewhere the
# program is linked statically with the C library of this machine. BERTH_STATIC_TARGET names another target.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  release | test) profile=$1 ;;
  *)
    echo "usage: hack/static.sh release|test" >&2
    exit 2
    ;;
esac
[ "$profile" = release ] || profile=static-test

machine=$(uname -m)
flags="--remap-path-prefix=$PWD=/berth --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
target=${BERTH_STATIC_TARGET:-}
if [ -z "$target" ]; then
  if hack/setup.sh has-musl; then target=$machine-unknown-linux-musl; else target=$machine-unknown-linux-gnu; fi
fi
case "$target" in
  *-musl) export "CC_${target//-/_}=musl-gcc" ;;
esac
# The target of musl has it by default.
flags="$flags -C target-feature=+crt-static"

hack/setup.sh cargo-auditable >&2
PATH="$(dirname "$(hack/setup.sh where-cargo-auditable)"):$PATH"
folder=${CARGO_TARGET_DIR:-$PWD/target}
RUSTFLAGS="${RUSTFLAGS:-} $flags" cargo auditable build --locked --profile "$profile" --target "$target" -p berth >&2
echo "$target $folder/$target/$profile/berth"
