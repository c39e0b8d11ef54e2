#!/bin/bash
# The effect of a queue by advisory lock on hot rows of PostgreSQL. Transactions update one of a few rows, then one of
# many, with and without `pg_advisory_xact_lock` in the statement that updates the hot row. Prints a table in
# Markdown.
#
#   scripts/hot-rows.sh [ROUNDS [SECONDS]]     5 rounds of 15 s
#
# A private PostgreSQL. First measures the throughput that the plain statement reaches with all clients in a closed
# loop. Then runs both in turn in an open loop (pgbench --rate) at LOADS percent of it; a latency counts from the time
# at which the transaction was due. Each round runs each once; "plain, again" compares plain with itself. ROWS=4,
# CLIENTS=64, LOADS="50 90 100".
set -euo pipefail

rounds="${1:-5}"
seconds="${2:-15}"
rows="${ROWS:-4}"
clients="${CLIENTS:-64}"
loads="${LOADS:-50 90 100}"
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1 || true)
[ -n "$bin" ] || {
    echo "scripts/hot-rows.sh: no PostgreSQL: scripts/install.sh postgresql" >&2
    exit 2
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hot-rows.XXXXXX")
chmod 777 "$scratch"
server=""
clean() {
    [ -z "$server" ] || kill -INT "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM

# PostgreSQL refuses root.
as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid postgres --regid postgres --clear-groups)
"${as[@]}" "$bin/initdb" -D "$scratch/data" -A trust -U postgres >"$scratch/install.log"
"${as[@]}" "$bin/postgres" -D "$scratch/data" -k "$scratch" -c listen_addresses= -c max_connections=$((clients + 10)) >"$scratch/server.log" 2>&1 &
server=$!
until "$bin/pg_isready" -q -h "$scratch"; do
    kill -0 "$server" 2>/dev/null || { cat "$scratch/server.log" >&2; exit 1; }
    sleep 0.1
done
"$bin/psql" -q -h "$scratch" -U postgres -c "create table hot (id int primary key, v int) with (fillfactor = 10);
    create table many (id int primary key, v int); insert into hot select g, 0 from generate_series(1, $rows) g;
    insert into many select g, 0 from generate_series(1, 100000) g" -c "vacuum analyze" postgres

transaction() {
    printf '\\set hot random(1, %s)\n\\set one random(1, 100000)\nbegin;\n%s\nupdate many set v = v + 1 where id = :one;\nend;\n' "$rows" "$1"
}
transaction "update hot set v = v + 1 where id = :hot;" >"$scratch/plain.sql"
transaction "with q as materialized (select pg_advisory_xact_lock(:hot)) update hot set v = v + 1 from q where id = :hot;" >"$scratch/queue.sql"

# The words after the script go to pgbench, whose log is left in $scratch/log.
run() {
    script=$1
    shift
    rm -f "$scratch"/log*
    "$bin/psql" -q -h "$scratch" -U postgres -c "vacuum hot" -c "vacuum many" -c checkpoint postgres
    "$bin/pgbench" -h "$scratch" -U postgres -n -f "$scratch/$script.sql" -c "$clients" -j 2 -T "$seconds" -l --log-prefix="$scratch/log" "$@" postgres \
        >"$scratch/pgbench.log" 2>&1 || { cat "$scratch/pgbench.log" >&2; exit 1; }
    cat "$scratch"/log.* >"$scratch/log"
}
tps() { sed -n 's/^tps = \([0-9]*\).*/\1/p' "$scratch/pgbench.log"; }
# Mean, p50 and p99 of the log, ms.
latencies() {
    awk '{ print $3 / 1000 }' "$scratch/log" | sort -g |
        awk '{ all[NR] = $1; sum += $1 }
            END { printf "%.2f %.2f %.2f\n", sum / NR, all[int(NR / 2) + 1], all[int(NR * 0.99) + 1] }'
}

run plain
saturated=$(tps)
echo "$(nproc) processors, $("$bin/postgres" --version), $clients clients, $rows hot rows: $saturated transactions a second in a closed loop, $rounds rounds of $seconds s"
echo
echo "| load | statement | transactions/s | mean, ms | p50, ms | p99, ms | p99 over plain's of the same round |"
echo "|---|---|---|---|---|---|---|"
for load in $loads; do
    rate=$((saturated * load / 100))
    : >"$scratch/results"
    for round in $(seq "$rounds"); do
        # In another order each time.
        for what in $(printf '%s\n' plain queue again | shuf); do
            script=$what
            [ "$what" != again ] || script=plain
            run "$script" --rate="$rate"
            echo "$what $round $(tps) $(latencies)" >>"$scratch/results"
        done
        echo "load $load %: round $round of $rounds" >&2
    done
    for what in plain again queue; do
        awk -v what="$what" -v percent="$load" '
            function median(list, n,   i, j, t) {
                for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
                least = list[1]; most = list[n]
                return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
            }
            $1 == "plain" { plain[$2] = $6 }
            $1 == what { round[++n] = $2; tps[n] = $3; mean[n] = $4; p50[n] = $5; p99[n] = $6 }
            END {
                for (i = 1; i <= n; i++) ratio[i] = p99[i] / plain[round[i]]
                name = what == "plain" ? "plain" : what == "again" ? "plain, again" : "queue by advisory lock"
                printf "| %s %% | %s | %.0f | %.2f | %.2f | %.2f | ", percent, name, median(tps, n), median(mean, n), median(p50, n), median(p99, n)
                middle = median(ratio, n)
                if (what == "plain") print "1 |"; else printf "%.2f (%.2f to %.2f) |\n", middle, least, most
            }' "$scratch/results"
    done
done
