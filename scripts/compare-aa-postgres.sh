#!/bin/bash
# Records one PostgreSQL under one load again and again, and counts false verdicts of `evenkeel compare`: of pieces of each recording, and of
# the recordings, each of which is a run of its own (scripts/compare-aa.py).
#
#   scripts/compare-aa-postgres.sh EVENKEEL [RUNS] [SECONDS] [PAIRS]      default: 8 runs of 60 s, 200 pairs
set -eu
evenkeel=$(realpath "${1:?usage: scripts/compare-aa-postgres.sh EVENKEEL [RUNS] [SECONDS] [PAIRS]}")
runs=${2:-8}
seconds=${3:-60}
pairs=${4:-200}
here=$(cd "$(dirname "$0")" && pwd)
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
work=$(mktemp -d /tmp/evenkeel-aa.XXXXXX)
server=
end() {
    [ -z "$server" ] || { kill -INT "$server"; wait "$server"; } 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM
as=()
if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    chown postgres "$work"
fi
"${as[@]}" "$bin/initdb" -A trust -U postgres -D "$work/data" >"$work/initdb.log"
"${as[@]}" "$bin/postgres" -D "$work/data" -k "$work" -c listen_addresses= -c shared_buffers=64MB >"$work/server.log" 2>&1 &
server=$!
until "$bin/psql" -h "$work" -U postgres -c 'select 1' >/dev/null 2>&1; do sleep 0.2; done
"$bin/pgbench" -h "$work" -U postgres -i -s 5 -q postgres >"$work/init.log" 2>&1
# What the first checkpoint and the first reads cost is in no run.
"$bin/pgbench" -h "$work" -U postgres -c 4 -R 300 -T 60 postgres >"$work/load.log" 2>&1
for ((run = 1; run <= runs; run++)); do
    "$bin/pgbench" -h "$work" -U postgres -c 4 -R 300 -T "$((seconds + 10))" postgres >"$work/load.log" 2>&1 &
    load=$!
    sleep 2
    "$evenkeel" attach "$server" --preset postgres --for "${seconds}s" -o "$work/run-$run.keel" >"$work/session.log" 2>&1 || { cat "$work/session.log"; exit 1; }
    wait "$load"
done
python3 "$here/compare-aa.py" "$evenkeel" "$pairs" "$work"/run-*.keel
echo
python3 "$here/compare-aa.py" "$evenkeel" "$pairs" --runs "$work"/run-*.keel
