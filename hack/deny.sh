#!/usr/bin/env bash
# Checks all dependencies with cargo-deny, in the version that hack/setup.sh has installed.
#
#   hack/deny.sh                bans, licences and sources, as deny.toml has them; advisories too when their database can be fetched
#   hack/deny.sh advisories     only what is known against them; fails when the database cannot be fetched
set -euo pipefail
cd "$(dirname "$0")/.."

# Seconds for fetching the database of advisories from GitHub.
readonly FETCH=60

tool=$(hack/setup.sh where-cargo-deny)
if [ ! -x "$tool" ]; then
  echo "cargo-deny is missing: \`hack/setup.sh cargo-deny\` installs it" >&2
  exit 1
fi
deny() {
  "$tool" --locked check --hide-inclusion-graph "$@"
}

if [ $# -gt 0 ]; then
  deny "$@"
  exit
fi
deny bans licenses sources
if timeout "$FETCH" "$tool" --locked fetch db >/dev/null 2>&1; then
  deny --disable-fetch advisories
else
  echo "The advisories were not checked: their database cannot be fetched from GitHub. \`make advisories\` tries it again."
fi
