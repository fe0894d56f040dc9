#!/bin/sh
# Prints what a binary of tests prints: `good` passes, `bad` fails, and `watchful` fails with one mutant.
said() { [ "$BERTH_MUTANT" = "unit MB" ] && echo FAILED || echo ok; }
echo "running 3 tests"
echo "test good ... ok"
echo "test bad ... FAILED"
echo "test watchful ... $(said)"
exit 101
