#!/usr/bin/env bash
# Runs all tests and the demonstrations. The last lines have the time and the totals:
#
#   N ignored, N min N s
#   N passed, N failed
#
# The demonstrations, with one cluster and with two, count as one each. Ends with 1 when anything has failed. Arguments go to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/.."

output=$(mktemp)
trap 'rm -f "$output"' EXIT
SECONDS=0

# sum WORD: adds up the numbers before WORD in the result lines of all test binaries.
sum() {
  awk -v word="$1" '
    /^test result: / { for (i = 2; i <= NF; i++) if ($i ~ "^" word ";?$") total += $(i - 1) }
    END { print total + 0 }' "$output"
}

echo "== kube-apiserver and etcd"
cargo run --locked -q -p berth-control-plane -- build

echo "== tests"
tests=0
cargo test --locked --workspace --no-fail-fast "$@" 2>&1 | tee "$output" || tests=$?
passed=$(sum passed)
failed=$(sum failed)
ignored=$(sum ignored)
if [ "$tests" != 0 ] && [ "$failed" = 0 ]; then
  echo "cargo test failed without a failed test: see above for what did not compile or crashed"
  failed=1
fi

for clusters in 1 2; do
  echo "== demonstration, CLUSTERS=$clusters"
  if make run ONCE=1 CLUSTERS=$clusters; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "the demonstration failed: see above"
  fi
done

echo "$ignored ignored, $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
