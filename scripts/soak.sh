#!/bin/bash
# Profiles PostgreSQL and Redis under load for hours, as evenkeel@.service does, and fails where memory of the session or of the server grows,
# or where requests fail. Prints a line a minute, and at the end what the session measured as its overhead.
#
#   scripts/soak.sh [MINUTES] [postgres|redis ...]      default: 180 minutes, both one after the other
#   RATE=60 PAUSE=5 scripts/soak.sh                     transactions a second, and seconds between two bursts of commands
#
# Needs a built evenkeel (EVENKEEL, or target/release, or target/debug) and `scripts/install.sh postgresql redis`.
set -eu
minutes=${1:-180}
shift || true
[ $# -gt 0 ] || set -- postgres redis
root=$(cd "$(dirname "$0")/.." && pwd)
for built in "${EVENKEEL:-}" "$root/target/release/evenkeel" "$root/target/debug/evenkeel"; do
    [ -z "$built" ] || [ ! -x "$built" ] || break
done
[ -x "$built" ] || { echo "scripts/soak.sh: no evenkeel; cargo build --release, or set EVENKEEL" >&2; exit 1; }
# Growth after the first quarter that is still none, kB: what allocators and caches do.
slack_kb=${SLACK_KB:-20000}
work=$(mktemp -d /tmp/evenkeel-soak.XXXXXX)
chmod 755 "$work"
started=()
end() {
    for ((at = ${#started[@]} - 1; at >= 0; at--)); do
        kill -INT "${started[at]}" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Sum of the private memory of processes, kB. Pages that several share would count as often as there are processes.
memory_kb() {
    local sum=0 part
    for pid in "$@"; do
        part=$(awk '/^(Private_Clean|Private_Dirty|Private_Hugetlb):/ { sum += $2 } END { print sum + 0 }' "/proc/$pid/smaps_rollup" 2>/dev/null) || part=0
        sum=$((sum + part))
    done
    echo "$sum"
}

postgres_begin() {
    bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
    as=()
    if [ "$(id -u)" -eq 0 ]; then
        as=(setpriv --reuid postgres --regid postgres --clear-groups)
        chown postgres "$work"
    fi
    "${as[@]}" "$bin/initdb" -A trust -U postgres -D "$work/data" >"$work/initdb.log"
    number=$(port)
    "${as[@]}" "$bin/postgres" -D "$work/data" -p "$number" -k "$work" -c listen_addresses= -c shared_buffers=64MB >"$work/server.log" 2>&1 &
    server=$!
    started+=("$server")
    until "$bin/psql" -h "$work" -p "$number" -U postgres -c 'select 1' >/dev/null 2>&1; do sleep 0.2; done
    "$bin/pgbench" -h "$work" -p "$number" -U postgres -i -s 5 -q postgres >"$work/init.log" 2>&1
    "$bin/pgbench" -h "$work" -p "$number" -U postgres -c 4 -R "${RATE:-300}" -T $((minutes * 60 + 60)) postgres >"$work/load.log" 2>&1 &
    load=$!
    started+=("$load")
    options=(--preset postgres)
}

redis_begin() {
    number=$(port)
    redis-server --port "$number" --bind 127.0.0.1 --save 60 1000 --dir "$work" >"$work/server.log" 2>&1 &
    server=$!
    started+=("$server")
    until redis-cli -p "$number" ping >/dev/null 2>&1; do sleep 0.2; done
    # A command that goes over all keys is slow now and then. What is stored does not grow. Pauses between, for a load that goes on for hours.
    (
        until [ -e "$work/enough" ]; do
            redis-benchmark -p "$number" -q -c 4 -n 4000 -r 100000 -t set,get,incr,hset >"$work/load.log" 2>&1
            redis-cli -p "$number" keys 'key:0000000012*' >/dev/null
            sleep "${PAUSE:-1}"
        done
    ) &
    load=$!
    started+=("$load")
    options=(--preset redis)
}

soak() {
    "$1_begin"
    mkdir -p "$work/sums"
    metrics=$(port)
    "$built" attach "$server" "${options[@]}" --summary --max-overhead 1% -o "$work/sums" --metrics "127.0.0.1:$metrics" >"$work/session.log" 2>&1 &
    session=$!
    started+=("$session")
    first_session=0
    first_server=0
    echo "$1: session $session, server $server, $minutes minutes"
    for ((minute = 1; minute <= minutes; minute++)); do
        sleep 60
        kill -0 "$session" 2>/dev/null || { cat "$work/session.log"; echo "$1: the session ended"; return 1; }
        kill -0 "$server" 2>/dev/null || { tail "$work/server.log"; echo "$1: the server ended"; return 1; }
        own=$(memory_kb "$session")
        # shellcheck disable=SC2046 # a list of numbers
        its=$(memory_kb "$server" $(pgrep -P "$server" || true))
        scraped=$(python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:$metrics/metrics').read().decode())")
        intervals=$(awk '$1 == "evenkeel_intervals_total" { print $2 }' <<<"$scraped")
        overhead=$(awk '/^evenkeel_overhead_ratio/ { sub(/.*kind="/, ""); sub(/"}/, ""); printf "%s %s, ", $1, $2 }' <<<"$scraped")
        series=$(grep -vc '^#' <<<"$scraped")
        printf '%s minute %3d: session %d kB, server %d kB, %s intervals, overhead %s%d series\n' "$1" "$minute" "$own" "$its" "$intervals" "$overhead" "$series"
        if ((minute == (minutes + 3) / 4)); then
            first_session=$own
            first_server=$its
        fi
    done
    touch "$work/enough"
    kill -INT "$session"
    wait "$session" || { cat "$work/session.log"; echo "$1: the session failed"; return 1; }
    ! grep -iE 'aborted|error|failed' "$work/load.log" | grep -v 'failed transactions: 0' || { echo "$1: requests failed"; return 1; }
    ((own - first_session <= slack_kb)) || { echo "$1: the session grew from $first_session to $own kB"; return 1; }
    ((its - first_server <= slack_kb)) || { echo "$1: the server grew from $first_server to $its kB"; return 1; }
    "$built" report --since 10m "$work/sums" 2>&1 | sed -n '1,12p'
    ls -l "$work/sums"
    kill -INT "$load" 2>/dev/null || true
    wait "$load" 2>/dev/null || true
    kill -INT "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rm -rf "$work/sums" "$work/data" "$work/enough"
    started=()
    echo "$1: flat; session $first_session to $own kB, server $first_server to $its kB"
}

for server_kind in "$@"; do
    soak "$server_kind"
done
