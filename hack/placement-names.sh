#!/usr/bin/env bash
# Writes the table of standard resource classes and traits of Placement anew from its two PyPI packages.
#
#   hack/placement-names.sh          write crates/placement-model/src/standard/table.rs
#   hack/placement-names.sh check    say whether the table is what the packages have
#
# Newer names: change the versions here, run it, and commit both.
set -euo pipefail
cd "$(dirname "$0")/.."

classes_version=1.1.0
traits_version=3.9.0
table=crates/placement-model/src/standard/table.rs

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check \
  "os-resource-classes==$classes_version" "os-traits==$traits_version"

"$venv/bin/python" - "$classes_version" "$traits_version" >"$venv/table.rs" <<'PYTHON'
import sys

import os_resource_classes
import os_traits

classes, traits = os_resource_classes.STANDARDS, sorted(os_traits.get_traits())


def table(docs, name, names):
    print(f"\n/// {docs}\npub const {name}: [&str; {len(names)}] = [")
    for each in names:
        print(f'    "{each}",')
    print("];")


print("//! The standard names of Placement, written by `hack/placement-names.sh`: change that, not this. Sources: the")
print(f"//! Python packages os-resource-classes {sys.argv[1]} and os-traits {sys.argv[2]}. It decides nothing.")
table("Resource classes; their order is the order of lists.", "CLASSES", classes)
table("Traits, ascending.", "TRAITS", traits)
PYTHON
rustfmt --edition 2024 "$venv/table.rs"

if [ "${1:-}" = check ]; then
  diff "$table" "$venv/table.rs" && echo "$table is what the packages have."
else
  cp "$venv/table.rs" "$table"
fi
