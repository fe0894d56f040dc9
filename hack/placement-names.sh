#!/usr/bin/env bash
# Writes the lists of standard resource classes and traits of Placement anew from its two PyPI packages.
#
#   hack/placement-names.sh          write crates/placement-model/src/standard/{classes,traits}.txt
#   hack/placement-names.sh check    say whether the lists are what the packages have
#
# Newer names: change the versions here and in crates/placement-model/src/standard.rs, run it, and commit all of it.
set -euo pipefail
cd "$(dirname "$0")/.."

classes_version=1.1.0
traits_version=3.9.0
lists=crates/placement-model/src/standard

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check \
  "os-resource-classes==$classes_version" "os-traits==$traits_version"
"$venv/bin/python" -c 'import os_resource_classes as c; print(*c.STANDARDS, sep="\n")' >"$venv/classes.txt"
"$venv/bin/python" -c 'import os_traits as t; print(*sorted(t.get_traits()), sep="\n")' >"$venv/traits.txt"

for list in classes traits; do
  if [ "${1:-}" = check ]; then
    diff "$lists/$list.txt" "$venv/$list.txt" && echo "$lists/$list.txt is what the packages have."
  else
    cp "$venv/$list.txt" "$lists/$list.txt"
  fi
done
