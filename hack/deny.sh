#!/usr/bin/env bash
# Checks all dependencies with cargo-deny, in the version that hack/setup.sh has installed.
#
#   hack/deny.sh                bans, licences and sources, as deny.toml has them; advisories too when their database can be fetched
#   hack/deny.sh advisories     only what is known against them; fails when the database cannot be fetched
#   hack/deny.sh waived         whether the waiver still counts
#
# Where the database of advisories cannot be fetched, the waiver counts: the day on which a maintainer has accepted that they are not
# checked. The check fails when that was more than DAYS ago. BERTH_TODAY replaces the date of today in tests.
set -euo pipefail
cd "$(dirname "$0")/.."

# Seconds for fetching the database of advisories from GitHub.
readonly FETCH=60
readonly WAIVER=hack/advisories-waiver.txt
readonly DAYS=90

# waived: whether the waiver is young enough, with what to do if it is not.
waived() {
  local waived_on age
  waived_on=$(sed -n 's/^waived on \([0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\)$/\1/p' "$WAIVER" 2>/dev/null || true)
  if [ -z "$waived_on" ]; then
    echo "The advisories were not checked, because GitHub cannot be reached, and $WAIVER has no line such as \"waived on 2026-11-27\"." >&2
    return 1
  fi
  age=$((($(date -u --date "${BERTH_TODAY:-today}" +%s) - $(date -u --date "$waived_on" +%s)) / 86400))
  if [ "$age" -gt "$DAYS" ] || [ "$age" -lt "-$DAYS" ]; then
    echo "The advisories were not checked, and the waiver of $waived_on counts for $DAYS days only: run \`make advisories\` where GitHub can be" \
      "reached, and write the day to $WAIVER." >&2
    return 1
  fi
  echo "The advisories were not checked: their database cannot be fetched from GitHub. The waiver of $waived_on counts for" \
    "$((DAYS - age)) days more; \`make advisories\` tries it again."
}

case "${1:-}" in
  waived)
    waived
    exit
    ;;
esac

tool=$(hack/setup.sh where-cargo-deny)
if [ ! -x "$tool" ]; then
  echo "cargo-deny is missing: \`hack/setup.sh cargo-deny\` installs it" >&2
  exit 1
fi
deny() {
  "$tool" --locked check --hide-inclusion-graph "$@"
}

case "${1:-}" in
  "")
    deny bans licenses sources
    if timeout "$FETCH" "$tool" --locked fetch db >/dev/null 2>&1; then
      deny --disable-fetch advisories
    else
      waived
    fi
    ;;
  *)
    deny "$@"
    ;;
esac
