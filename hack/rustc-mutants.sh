#!/bin/sh
# Stands between cargo and the compiler of our own packages for `make mutants` (RUSTC_WORKSPACE_WRAPPER): the same
# compilation with `--cfg mutants`. Packages of others are not compiled again.
exec "$@" --cfg mutants
