#!/usr/bin/env bash
# Runs all tests, the demonstrations among them. The last lines have the time and the totals:
#
#   N states of hosts checked
#   N ignored, N min N s
#   N passed, N failed
#
# Ends with 1 when anything has failed. Arguments say which packages are tested, for example `-p berth-core`; without any all are.
#
# The simulation takes both cores for minutes and does not know what time it is; most other tests wait for a real API server. So it runs beside
# them, with the lowest priority, and what it says is printed when it has ended. In the same way the static program of the image is built
# before it; the tests that need that program are the last ones.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
SECONDS=0
output=$work/output
: >"$output"
[ $# -gt 0 ] || set -- --workspace
# The tests on control planes append to this file how many states of hosts they have checked, a line for each test.
export HOST_STATES=$work/host-states
: >"$HOST_STATES"

# sum WORD: adds up the numbers before WORD in the result lines of all test binaries.
sum() {
  awk -v word="$1" '
    /^test result: / { for (i = 2; i <= NF; i++) if ($i ~ "^" word ";?$") total += $(i - 1) }
    END { print total + 0 }' "$output"
}

# From cargo's messages: for each test binary the folder of its package and its path.
binaries() {
  sed -n '/"profile":{[^}]*"test":true}/s/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"executable":"\([^"]*\)".*/\1 \2/p' "$1"
}

# The same for a program of this name, of which there may be none.
program() {
  sed -n '/"profile":{[^}]*"test":false}/s/.*"executable":"\([^"]*\/'"$2"'\)".*/\1/p' "$1"
}

# The beginning of what each failed test has printed, which has why it failed: at the end, where a log that was cut still has it.
say_why() {
  awk '
    /^---- .* stdout ----$/ { left = 20; print; next }
    /^failures:$|^test result: |^stack backtrace:$/ { left = 0 }
    left > 0 && NF { print "  " substr($0, 1, 600); left-- }' "$output"
}

# run FOLDER BINARY: as cargo does.
run() {
  local began=$SECONDS code=0
  echo "     Running ${2##*/}"
  (cd "$1" && exec "$2") 2>&1 || code=$?
  # With a failed test it has said so itself.
  [ "$code" = 0 ] || [ "$code" = 101 ] || echo "test result: it ended with $code: 0 passed; 1 failed"
  echo "     ${2##*/}: $((SECONDS - began)) s"
}

# Builds fetch only the packages of this platform; `cargo metadata`, which tests of the codebase call, needs all of them.
echo "== fetching the packages of all platforms"
for manifest in Cargo.toml fuzz/Cargo.toml; do
  cargo fetch --locked -q --manifest-path "$manifest"
done

echo "== building the tests"
# Not the examples, which clippy checks.
if ! cargo test --locked "$@" --tests --no-run --message-format=json-render-diagnostics >"$work/messages"; then
  echo "the tests could not be built: see above"
  echo "0 passed, 1 failed"
  exit 1
fi
binaries "$work/messages" >"$work/all"
grep '/simulation-[^/]*$' "$work/all" >"$work/beside" || true
grep '/static_[^/]*$' "$work/all" >"$work/static" || true
grep -v '/simulation-[^/]*$\|/static_[^/]*$' "$work/all" >"$work/others" || true
echo "$(wc -l <"$work/all") test binaries after $((SECONDS / 60)) min $((SECONDS % 60)) s"

echo "== kube-apiserver and etcd"
builder=$(program "$work/messages" berth-control-plane)
if [ -n "$builder" ]; then
  "$builder" build
else
  cargo run --locked -q -p berth-control-plane -- build
fi

echo "== Keystone"
keystone=$(program "$work/messages" berth-keystone)
[ -z "$keystone" ] || "$keystone" prepare

echo "== helm, kubeconform, helm-docs and crdify"
chart=$(program "$work/messages" berth-chart)
[ -z "$chart" ] || "$chart" tools

# build_static: once, for all tests that examine it.
build_static() {
  [ -s "$work/static" ] || return 0
  local began=$SECONDS
  if hack/static.sh test >"$work/static-build" 2>&1; then
    echo "the static program was built in $((SECONDS - began)) s: $(tail -n 1 "$work/static-build")"
  else
    tail -n 40 "$work/static-build"
  fi
}
[ ! -s "$work/static" ] || hack/setup.sh musl

echo "== tests"
{
  renice -n 19 -p "$BASHPID" >/dev/null
  build_static >"$work/static-built"
  touch "$work/static-ended"
  while read -r folder binary; do
    run "$folder" "$binary" </dev/null
  done <"$work/beside"
} >"$work/simulation" &
beside=$!
while read -r folder binary; do
  run "$folder" "$binary" </dev/null | tee -a "$output"
done <"$work/others"
if [ -s "$work/static" ]; then
  echo "== the static program, which was built beside them"
  until [ -e "$work/static-ended" ]; do sleep 1; done
  cat "$work/static-built"
  while read -r folder binary; do
    run "$folder" "$binary" </dev/null | tee -a "$output"
  done <"$work/static"
fi
echo "== documentation tests"
documentation=0
cargo test --locked "$@" --doc 2>&1 | tee -a "$output" || documentation=$?

echo "== the simulation, which ran beside them"
wait "$beside" || true
tee -a "$output" <"$work/simulation"

passed=$(sum passed)
failed=$(sum failed)
ignored=$(sum ignored)
if [ "$documentation" != 0 ] && [ "$failed" = 0 ]; then
  echo "the documentation tests failed: see above"
  failed=1
fi
if [ "$failed" != 0 ]; then
  echo "== failed"
  grep -E '^test .* FAILED$|^test result: .* [1-9][0-9]* failed' "$output" || true
  say_why
fi
awk '{ sum += $1 } END { print sum + 0, "states of hosts checked" }' "$HOST_STATES"
echo "$ignored ignored, $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
