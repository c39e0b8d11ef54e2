#!/bin/bash
# Reproduces the problems that patterns of advice are about, each on a private server of this system. Then it checks what the
# report says: the pattern fires on the first or the second finding, and no other pattern fires.
#
#   scripts/test-advice.sh [CASE]..       names of files in profiler/report/tests/patterns; without one, all of them
#
# KEEP=1 replaces the recorded cases by the new ones. FAILED=DIRECTORY keeps the case, the log and the test's output where
# something else came out. CARGO is cargo. As root, on a machine that does nothing else.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
recorded=profiler/report/tests/patterns
new=$(mktemp -d /tmp/evenkeel-advice.XXXXXX)
trap 'rm -rf "$new"' EXIT
cases=("$@")
[ $# -gt 0 ] || mapfile -t cases < <(basename -s .json "$recorded"/*.json)

field() { python3 -c 'import json, sys
value = json.load(open(sys.argv[1])).get(sys.argv[2]) or ""
print(value if isinstance(value, str) else ",".join(value))' "$recorded/$1.json" "$2"; }

# Built once: cargo may have to wait for others.
replay=$(${CARGO:-cargo} test -p evenkeel-report --test patterns --no-run 2>&1 | sed -n 's/.*(\(.*\/patterns-[0-9a-f]*\))$/\1/p')
if [ -z "$replay" ]; then
    echo "scripts/test-advice.sh: cargo test -p evenkeel-report --test patterns does not build" >&2
    exit 2
fi

keep_failed() { # CASE
    [ -z "${FAILED:-}" ] || { mkdir -p "$FAILED/$1" && cp -r "$new"/* "$FAILED/$1/"; }
}

failed=()
for case in "${cases[@]}"; do
    if [ ! -e "$recorded/$case.json" ]; then
        echo "scripts/test-advice.sh: there is no case $case in $recorded" >&2
        exit 2
    fi
    read -ra command <<<"$(field "$case" about)"
    rm -rf "${new:?}"/*
    echo "$case: ${command[*]}"
    if ! CASE="$new/$case.json" PATTERN="$(field "$case" expected)" ALSO="$(field "$case" also)" timeout 10m bash "${command[@]}" \
        >"$new/log" 2>&1; then
        tail -n 20 "$new/log"
        failed+=("$case (not reproduced)")
        keep_failed "$case"
    elif ! EVENKEEL_PATTERNS="$new" "$replay" a_pattern_fires >"$new/test" 2>&1; then
        grep -E "fires in|is not first" "$new/test" || tail -n 20 "$new/test"
        failed+=("$case")
        keep_failed "$case"
    else
        echo "$case: as expected"
        [ -z "${KEEP:-}" ] || cp "$new/$case.json" "$recorded/"
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
