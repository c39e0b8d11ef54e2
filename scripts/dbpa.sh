#!/bin/bash
# The nine single causes of the published DBPA benchmark of performance anomalies of databases (Huang and others, 2023), and
# two pairs of them, each as a load on a private PostgreSQL of this system: which of them does a report name, and what does it advise?
#
#   scripts/dbpa.sh [CAUSE]..       prints a table for the book; without a cause, all of them
#
# EVENKEEL is the program (target/debug/evenkeel). SECONDS_EACH is how long a cause is profiled (20). As root, on a machine that does nothing else.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# CAUSE | the patterns that name it, by commas; several groups of them, by semicolons, for several causes | options of attach
causes="lock-waits|contended rows
commits|group commit,commit's flush
inserts|growing tables,room in the log's buffers,contended pages
missing-index|whole tables read
many-indexes|many indexes
small-buffers|reading pages,writing pages to make room
vacuum|maintenance
disk|commit's flush,group commit
crowded|more sessions than processors|--waits
missing-index-and-lock-waits|whole tables read;contended rows
small-buffers-and-commits|reading pages,writing pages to make room;group commit,commit's flush"
reports=${REPORTS:-$(mktemp -d /tmp/evenkeel-dbpa.XXXXXX)}
[ -n "${REPORTS:-}" ] || trap 'rm -rf "$reports"' EXIT
failed=0
scripts/patterns/table.py head
while IFS='|' read -r cause expected options; do
    [ $# -eq 0 ] || [[ " $* " == *" $cause "* ]] || continue
    # shellcheck disable=SC2086  # no option, or one
    REPORT="$reports/$cause.json" timeout 10m scripts/patterns/postgresql.sh "$cause" "${SECONDS_EACH:-20}" -- $options </dev/null >"$reports/log" 2>&1 ||
        tail -n 5 "$reports/log" >&2
    scripts/patterns/table.py row "$cause" "$expected" "$reports/$cause.json" || failed=1
done <<<"$causes"
exit $failed
