#!/bin/sh
# Imitates the output of a test binary: `good` passes, `bad` fails, and `watchful` fails with one mutant.
said() { [ "$BERTH_MUTANT" = "unit MB" ] && echo FAILED || echo ok; }
echo "running 3 tests"
echo "test good ... ok"
echo "test bad ... FAILED"
echo "test watchful ... $(said)"
exit 101
