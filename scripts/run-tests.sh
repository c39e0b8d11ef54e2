#!/usr/bin/env bash
# Runs every test, those behind one that fails too: a run names all that fail.
#
# The tests of the command line (cli/tests) measure live programs and servers on a machine with other work. A failed
# one is tried once more, alone, and named at the end; the output has its first failure. A test that is named there
# often needs mending. All other tests have one attempt: a failure once in a hundred runs is a defect. So do the tests
# that no target is harmed and nothing is lost (`unharmed::`, servers_every_site, kills, tune_killed).
#
# usage: run-tests.sh [CARGO]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
cargo=${1:-cargo}
# A hanging test ends the run after an hour, which is far longer than the slowest machine needs. cargo names the test
# ("has been running for over 60 seconds").
limit() { timeout --kill-after=30 60m "$@"; }

# The tests that may be tried again, as lines of "target test"; fails where anything else failed as well.
measured() {
    awk '
        $1 == "Running" { target = $2 == "unittests" ? "" : $2; sub(/.*\//, "", target); sub(/\.rs$/, "", target) }
        $1 == "Doc-tests" { target = "" }
        $1 == "test" && $NF == "FAILED" { if (target ~ /^(|servers_every_site|kills|tune_killed)$/ || $2 ~ /^unharmed::/) other = 1; failed[target] = failed[target] "\n" $2 }
        /^    `-p / {
            gsub(/[`]/, "")
            if ($2 == "evenkeel" && $3 == "--test" && failed[$4] != "") again[$4] = 1; else other = 1
        }
        END {
            for (target in again) {
                count = split(substr(failed[target], 2), names, "\n")
                for (i = 1; i <= count; i++) print target, names[i]
                any = 1
            }
            exit other || !any
        }
    ' "$1"
}

failed=0
log=$(mktemp)
trap 'rm -f "$log" "$log.again"' EXIT
if ! limit "$cargo" test --workspace --no-fail-fast 2>&1 | tee "$log"; then
    if measured "$log" >"$log.again"; then
        while read -r target name; do
            echo "second attempt: $name of cli/tests/$target"
            limit "$cargo" test --workspace --test "$target" -- --exact "$name" </dev/null || failed=1
        done <"$log.again"
    else
        failed=1
    fi
fi
for crate in locks log pages; do
    limit "$cargo" test -p "evenkeel-$crate" --features shuttle --test shuttle || failed=1
done
if [ -s "$log.again" ] && [ "$failed" = 0 ]; then
    echo "passed at the second attempt only:"
    sed 's/^/    /' "$log.again"
fi
exit "$failed"
