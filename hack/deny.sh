#!/usr/bin/env bash
# Checks licences, sources and advisories of all dependencies, where cargo-deny is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v cargo-deny >/dev/null 2>&1; then
  exec cargo deny --locked check
fi
echo "cargo-deny is not installed: advisories were not checked. \`cargo install --locked cargo-deny\` gets it."
echo "Licences and sources are checked without it, by a test of the house (\`make test\`)."
