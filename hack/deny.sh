#!/usr/bin/env bash
# Checks all dependencies with cargo-deny, in the version that hack/setup.sh has installed.
#
#   hack/deny.sh                bans, licences and sources, as deny.toml has them; no network
#   hack/deny.sh advisories     what is known against them; fetches the database of advisories from GitHub
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$(hack/setup.sh where-cargo-deny)
if [ ! -x "$tool" ]; then
  echo "cargo-deny is missing: \`hack/setup.sh cargo-deny\` installs it" >&2
  exit 1
fi
if [ $# -gt 0 ]; then
  checks=("$@")
else
  checks=(bans licenses sources)
fi
exec "$tool" --locked check --hide-inclusion-graph "${checks[@]}"
