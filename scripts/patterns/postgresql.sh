#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private PostgreSQL, and prints what the report finds.
#
#   scripts/patterns/postgresql.sh ddl-queue|rows-idle|truncation|standby|gin|jit|planning [SECONDS] [-- OPTIONS OF ATTACH]
#
# EVENKEEL is the program (target/debug/evenkeel). CASE=FILE writes the case for profiler/report/tests/patterns. As root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
problem=${1:?which problem}
seconds=${2:-20}
shift $(($# < 2 ? $# : 2))
[ "${1:-}" = -- ] && shift
EVENKEEL=${EVENKEEL:-$here/../../target/debug/evenkeel}
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
work=$(mktemp -d /tmp/evenkeel-pattern.XXXXXX)
chown postgres "$work"
chmod 755 "$work"
export PGHOST=$work PGUSER=postgres PGDATABASE=postgres PGPORT=5432
as() { runuser -u postgres -- "$@"; }
sql() { as psql -XqAt "$@"; }
jobs_of_load=()
load() { "$@" >>"$work/load.log" 2>&1 & jobs_of_load+=($!); }

start() { # NAME PORT SETTING..
    local name=$1 port=$2 setting
    shift 2
    [ -d "$work/$name" ] || as "$bin/initdb" -D "$work/$name" -U postgres --no-sync -A trust >/dev/null
    {
        echo "unix_socket_directories = '$work'"
        echo "listen_addresses = ''"
        echo "port = $port"
        for setting in "$@"; do echo "$setting"; done
    } >>"$work/$name/postgresql.conf"
    as "$bin/pg_ctl" -D "$work/$name" -l "$work/$name.log" -w start >/dev/null
}

stop() {
    touch "$work/end"
    for job in "${jobs_of_load[@]}"; do kill "$job" 2>/dev/null || true; done
    for name in standby primary; do
        [ -d "$work/$name" ] && as "$bin/pg_ctl" -D "$work/$name" -m immediate -w stop >/dev/null 2>&1 || true
    done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

repeat() { # COMMAND.. until the end
    while [ ! -e "$work/end" ]; do "$@"; done
}

# A transaction that holds its locks while its client does something else.
idle() { printf '%s\n' 'begin;' "$1" "\\! sleep $2" 'commit;' | sql; }

case $problem in
ddl-queue)
    start primary 5432
    as "$bin/pgbench" -i -s 2 -q >/dev/null 2>&1
    alter() { sleep 0.3; sql -c 'alter table pgbench_accounts add column if not exists age integer'; }
    stall() { idle 'select count(*) from pgbench_accounts where aid = 1;' 1.6 >/dev/null & alter; wait $!; sleep 2; }
    load repeat stall
    load as "$bin/pgbench" -n -S -c 6 -R 400 -T 600
    ;;
rows-idle)
    start primary 5432
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    stall() { idle 'update pgbench_branches set bbalance = 0 where bid = 1;' 0.4 >/dev/null; sleep 1; }
    load repeat stall
    echo 'update pgbench_branches set bbalance = bbalance + 1 where bid = 1;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 100 -T 600
    ;;
truncation)
    start primary 5432 'autovacuum_naptime = 1s' 'max_wal_size = 8GB' 'shared_buffers = 512MB' 'synchronous_commit = off' \
        'autovacuum_vacuum_cost_delay = 0' 'wal_level = minimal' 'max_wal_senders = 0'
    sql -c 'create table t (p int, id int, pad text) partition by list (p)'
    parts=$((seconds / 3 + 4))
    for part in $(seq $parts); do
        sql -c "begin; create table t$part partition of t for values in ($part) with (autovacuum_enabled = off); alter table t$part alter pad set storage plain;
            insert into t$part select $part, g, repeat('x', 4500) from generate_series(1, 30000) g; create index on t$part (id); commit;
            delete from t$part where id > 1000; analyze t$part"
    done
    sql -c checkpoint
    enable() {
        for part in $(seq $parts); do
            [ -e "$work/end" ] && return
            sleep 3
            sql -c "alter table t$part set (autovacuum_enabled = on, autovacuum_vacuum_threshold = 10, autovacuum_vacuum_scale_factor = 0)"
        done
    }
    load enable
    printf '%s\n' '\set id random(1, 1000)' "\\set p random(1, $parts)" 'select length(pad) from t where p = :p and id = :id;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 6 -R 400 -T 600
    ;;
standby)
    start primary 5432 'max_wal_senders = 5' 'autovacuum = off'
    as "$bin/pgbench" -i -s 2 -q >/dev/null 2>&1
    as "$bin/pg_basebackup" -D "$work/standby" -R -X stream -c fast
    start standby 5433 'recovery_min_apply_delay = 300ms' 'hot_standby = on'
    sql -c "alter system set synchronous_standby_names = '*'" -c 'select pg_reload_conf()' >/dev/null
    printf '%s\n' '\set id random(1, 100000)' "\\set far random(1, 20)" '\if :far = 1' \
        "begin; set local synchronous_commit = remote_apply; update pgbench_accounts set abalance = 1 where aid = :id; commit;" '\else' \
        'update pgbench_accounts set abalance = 1 where aid = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 6 -R 100 -T 600
    ;;
gin)
    start primary 5432 'autovacuum = off' 'synchronous_commit = off'
    sql -c 'create table d (id bigserial, tags int[])' -c 'create index on d using gin (tags) with (gin_pending_list_limit = 4096)'
    printf '%s\n' 'insert into d (tags) select array_agg((random() * 1e6)::int) from generate_series(1, 60);' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 600 -T 600
    ;;
jit)
    start primary 5432 'jit_above_cost = 0' 'jit_inline_above_cost = 0' 'jit_optimize_above_cost = 0'
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    printf '%s\n' '\set far random(1, 20)' '\if :far = 1' \
        'select sum(a.abalance * 2 + b.bbalance), max(a.aid % 7) from pgbench_accounts a join pgbench_branches b using (bid) where a.aid < 100 group by a.aid % 3;' \
        '\else' 'set jit = off;' 'select 1;' 'reset jit;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
planning)
    start primary 5432 'join_collapse_limit = 10'
    tables=$(seq 2 9 | sed 's/.*/ join t& using (id)/' | tr -d '\n')
    for table in $(seq 9); do echo "create table t$table (id int primary key);"; done | sql >/dev/null
    printf '%s\n' '\set far random(1, 20)' '\if :far = 1' "select count(*) from t1$tables;" '\else' 'select 1;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
*)
    echo "$0: $problem is not known" >&2
    exit 2
    ;;
esac
sleep 2
"$EVENKEEL" attach "$(head -1 "$work/primary/postmaster.pid")" --preset postgres --for "${seconds}s" -o "$work/run.keel" "$@"
if [ -n "${CASE:-}" ]; then
    "$EVENKEEL" report "$work/run.keel" --json | python3 "$here/../pattern-case.py" "scripts/patterns/postgresql.sh $problem $seconds $*" ${PATTERN:+"$PATTERN"} >"$CASE"
fi
