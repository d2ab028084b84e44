#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A cron job that writes a file: on however many machines or terminals it is started, one makes the report at a time, and one that was
# stopped for too long does not overwrite a later report. `cremone` must be in the PATH. Usage: nightly_report.sh FILE
set -eu
report=$1

# Skip it, and call that fine, if another is at it. The command finds its token in CREMONE_TOKEN, and so does `cremone fence`.
cremone run --try -E 0 nightly-report -- sh -c '
  { echo "made on $(date)"; df -P; } | cremone fence write "$1"
' report "$report"

# Somebody who held the lock before, was stopped, and wakes up only now: exit code 81, and the report stays as it is.
highest=$(cremone fence show "$report")
status=0
echo "yesterday" | cremone fence write --token $((highest - 1)) "$report" || status=$?
[ "$status" -eq 81 ]
grep -q "made on" "$report"
