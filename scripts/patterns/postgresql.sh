#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private PostgreSQL, and prints what the report finds.
#
#   scripts/patterns/postgresql.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# problem.sh has the variables that it reads. As root.
. "$(dirname "$0")/problem.sh"
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
chown postgres "$work"
export PGHOST=$work PGUSER=postgres PGDATABASE=postgres PGPORT=5432
as() { runuser -u postgres -- "$@"; }
sql() { as psql -XqAt "$@"; }

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
    as env LD_PRELOAD="$preload" "$bin/pg_ctl" -D "$work/$name" -l "$work/$name.log" -w start >/dev/null
}

stop_servers() {
    local name
    for name in standby primary; do
        [ -d "$work/$name" ] && as "$bin/pg_ctl" -D "$work/$name" -m immediate -w stop >/dev/null 2>&1 || true
    done
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
roles)
    start primary 5432
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    sql -c "create role app login; do \$\$ begin for i in 1..4000 loop execute format('create role r%s; grant r%s to app', i, i); end loop; end \$\$;
        grant select on all tables in schema public to r4000; create role other; grant other to postgres"
    change() { sql -c 'grant r1 to other; revoke r1 from other'; sleep 0.5; }
    load repeat change
    load as env PGUSER=app "$bin/pgbench" -n -S -c 4 -R 200 -T 600
    ;;
sleep)
    start primary 5432
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    cat >"$work/load.sql" <<'LOAD'
\set aid random(1, 100000)
\set one random(1, 20)
\if :one = 1
select pg_sleep(0.02), abalance from pgbench_accounts where aid = :aid;
\else
select abalance from pgbench_accounts where aid = :aid;
\endif
LOAD
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 200 -T 600
    ;;
slow-copy)
    start primary 5432
    as "$bin/pgbench" -i -s 10 -q >/dev/null 2>&1
    export_slowly() {
        sql -c "copy (select repeat('x', 4000) from pgbench_accounts limit 20000) to stdout" | python3 -c 'import sys, time
while sys.stdin.buffer.read(1 << 20):
    time.sleep(0.02)'
        sleep 1
    }
    load repeat export_slowly
    echo 'select aid from pgbench_accounts where aid = 5;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 3 -R 300 -T 600
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
parallel)
    # Workers for a statement that is short.
    start primary 5432 'parallel_setup_cost = 0' 'parallel_tuple_cost = 0' 'min_parallel_table_scan_size = 0' 'max_parallel_workers_per_gather = 4'
    sql -c 'create table t (id int primary key, n int)' -c 'insert into t select g, g from generate_series(1, 20000) g' -c 'vacuum analyze t' >/dev/null
    printf '%s\n' '\set id random(1, 20000)' '\set far random(1, 20)' '\if :far = 1' 'select count(*) from t where n % 7 = 3;' '\else' 'select n from t where id = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
planning)
    start primary 5432 'join_collapse_limit = 10'
    tables=$(seq 2 9 | sed 's/.*/ join t& using (id)/' | tr -d '\n')
    for table in $(seq 9); do echo "create table t$table (id int primary key);"; done | sql >/dev/null
    printf '%s\n' '\set far random(1, 20)' '\if :far = 1' "select count(*) from t1$tables;" '\else' 'select 1;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
subtransactions)
    # A transaction that stays open, and another with more subtransactions than a snapshot has room for (64).
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB' 'autovacuum = off' 'shared_buffers = 512MB'
    sql -c 'create table c (id int primary key, v bigint default 0) with (fillfactor = 40)' \
        -c 'insert into c select g from generate_series(1, 100000) g' -c 'vacuum analyze c' >/dev/null
    load idle 'select txid_current();' 600
    sleep 1
    sql -c 'do $$ begin for id_of in 1..100000 loop begin update c set v = v + 1 where id = id_of; exception when others then null; end; end loop; end $$' \
        -c 'do $$ begin for id_of in 1..100000 loop begin update c set v = v + 1 where id = 1 + id_of * 7919 % 100000; exception when others then null; end; end loop; end $$'
    {
        echo 'begin;'
        for at in $(seq 70); do printf '%s\n' "savepoint s$at;" '\set r random(1, 100000)' 'update c set v = v + 1 where id = :r;'; done
        printf '%s\n' '\sleep 400 ms' 'commit;' '\sleep 600 ms'
    } >"$work/writer.sql"
    printf '%s\n' '\set a random(1, 99000)' 'select sum(v) from c where id between :a and :a + 800;' >"$work/load.sql"
    # Since version 14 a snapshot is used again until some transaction ends.
    sql -c 'create table tick (n int)' -c 'insert into tick values (0)' >/dev/null
    echo 'update tick set n = n + 1;' >"$work/tick.sql"
    load as "$bin/pgbench" -n -f "$work/tick.sql" -c 1 -R 30 -T 600
    load as "$bin/pgbench" -n -f "$work/writer.sql" -c 1 -T 600
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 8 -j 2 -R 200 -T 600
    ;;
crowded)
    start primary 5432
    as "$bin/pgbench" -i -s 2 -q >/dev/null 2>&1
    printf '%s\n' '\set id random(1, 190000)' 'select sum(abalance) from pgbench_accounts where aid between :id and :id + 5000;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c $((8 * $(nproc))) -j 2 -T 600
    ;;
lock-waits)
    start primary 5432
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    printf '%s\n' 'begin;' 'update pgbench_branches set bbalance = bbalance + 1 where bid = 1;' 'select pg_sleep(0.01);' 'end;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 6 -T 600
    ;;
commits)
    start primary 5432
    sql -c 'create table t (n bigint)'
    echo 'insert into t values (1);' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 8 -R 600 -T 600
    ;;
inserts)
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB'
    sql -c 'create table t (id bigserial primary key, pad text)'
    printf '%s\n' "insert into t (pad) select repeat('x', 400) from generate_series(1, 400);" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 16 -j 2 -T 600
    ;;
log-buffers)
    # Messages for a reader of the log: nothing else is changed.
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB' 'wal_buffers = 256kB'
    printf '%s\n' "select pg_logical_emit_message(false, 'outbox', repeat('x', 400)) from generate_series(1, 400);" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 16 -j 2 -T 600
    ;;
missing-index)
    start primary 5432 'max_parallel_workers_per_gather = 0'
    as "$bin/pgbench" -i -s 3 -q >/dev/null 2>&1
    sql -c 'alter table pgbench_accounts add column code integer' -c 'update pgbench_accounts set code = aid' -c 'vacuum analyze' >/dev/null
    printf '%s\n' '\set id random(1, 300000)' '\set far random(1, 20)' '\if :far = 1' 'select abalance from pgbench_accounts where code = :id;' '\else' \
        'select abalance from pgbench_accounts where aid = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 100 -T 600
    ;;
many-indexes)
    start primary 5432 'synchronous_commit = off' 'autovacuum = off' 'max_wal_size = 8GB'
    columns=$(seq 16 | sed 's/.*/, c& double precision default random()/' | tr -d '\n')
    sql -c "create table t (id bigserial primary key$columns)"
    for column in $(seq 16); do sql -c "create index on t (c$column)"; done
    printf '%s\n' '\set n random(1, 20)' '\set n :n * :n / 4 + 1' 'insert into t (id) select nextval($$t_id_seq$$) from generate_series(1, :n);' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
small-buffers)
    start primary 5432 'shared_buffers = 1MB' 'autovacuum = off'
    as "$bin/pgbench" -i -s 20 -q >/dev/null 2>&1
    printf '%s\n' '\set id random(1, 1900000)' '\set far random(1, 20)' '\set to :id + 100 + 60000 * (:far / 20)' 'select sum(abalance) from pgbench_accounts where aid between :id and :to;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
vacuum)
    start primary 5432 'autovacuum = off' 'synchronous_commit = off' 'max_wal_size = 8GB' 'shared_buffers = 64MB'
    as "$bin/pgbench" -i -s 10 -q >/dev/null 2>&1
    sql -c 'delete from pgbench_accounts where aid % 10 = 0'
    clean() { sql -c 'vacuum (disable_page_skipping) pgbench_accounts'; sleep 1; }
    load repeat clean
    load as "$bin/pgbench" -n -S -c 2 -R 100 -T 600
    ;;
disk)
    start primary 5432
    as "$bin/pgbench" -i -s 2 -q >/dev/null 2>&1
    write() { dd if=/dev/zero of="$work/large" bs=1M count=512 oflag=direct conv=fsync; }
    load repeat write
    load repeat write
    load as "$bin/pgbench" -n -N -c 2 -R 100 -T 600
    ;;
notify)
    start primary 5432
    sql -c 'create table t (n bigint)'
    printf '%s\n' 'begin;' 'insert into t values (1);' "notify changed, '';" 'end;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 8 -R 400 -T 600
    ;;
advisory)
    start primary 5432
    printf '%s\n' '\set far random(1, 20)' 'begin;' 'select pg_advisory_xact_lock(1);' '\if :far = 1' 'select pg_sleep(0.1);' '\endif' 'end;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 6 -R 100 -T 600
    ;;
trigger)
    start primary 5432 'synchronous_commit = off' 'autovacuum = off'
    sql -c 'create table stock (id int primary key, n int)' -c 'insert into stock select g, g from generate_series(1, 50000) g' -c 'create table t (id int)' \
        -c 'create function total() returns trigger language plpgsql as $$ begin for step in 1..new.id loop perform n from stock where id = step; end loop; return new; end $$' \
        -c 'create trigger total after insert on t for each row execute function total()'
    printf '%s\n' '\set far random(1, 20)' '\if :far = 1' 'insert into t values (4000);' '\else' 'insert into t values (1);' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
foreign-key)
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB'
    sql -c 'create table parent (id int primary key)' -c 'create table child (id int primary key, parent int references parent)' \
        -c 'insert into parent select g from generate_series(1, 100000) g' -c 'insert into child select g, 1 + g % 100 from generate_series(1, 200000) g' -c 'vacuum analyze'
    printf '%s\n' '\set id random(1000, 100000)' '\set far random(1, 20)' '\if :far = 1' 'delete from parent where id = :id;' '\else' 'select * from parent where id = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
referred-row)
    # A session locks a row while its client does something else, and rows that refer to it are written.
    start primary 5432
    sql -c 'create table account (id int primary key)' -c 'create table entry (id bigserial primary key, account int references account)' \
        -c 'insert into account select g from generate_series(1, 1000) g'
    stall() { idle 'select * from account where id <= 100 for update;' 0.3 >/dev/null; sleep 0.7; }
    load repeat stall
    printf '%s\n' '\set id random(1, 1000)' 'insert into entry (account) values (:id);' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 60 -T 600
    ;;
partitions)
    # A generic plan locks all partitions, and leaves all but one of them out.
    start primary 5432 'plan_cache_mode = force_generic_plan' 'max_locks_per_transaction = 2000'
    sql -c 'create table s (id int primary key)' -c 'insert into s select g from generate_series(1, 1000) g' -c 'create table m (id int, day int) partition by range (day)'
    for day in $(seq 1600); do echo "create table m$day partition of m for values from ($day) to ($day + 1);"; done | sql
    sql -c 'insert into m select g, 1 + g % 1600 from generate_series(1, 40000) g' -c 'analyze' >/dev/null
    printf '%s\n' '\set id random(1, 40000)' '\set day random(1, 1600)' 'select id from m where id = :id and day = :day;' >"$work/many.sql"
    printf '%s\n' '\set id random(1, 1000)' 'select id from s where id = :id;' >"$work/load.sql"
    chmod -R a+rX "$work"
    load as "$bin/pgbench" -n -M prepared -f "$work/many.sql@1" -f "$work/load.sql@9" -c 2 -R 100 -T 600
    ;;
large-values)
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB' 'autovacuum = off'
    sql -c 'create table d (id int primary key, doc jsonb)' -c "insert into d select g, jsonb_object_agg('key' || k, md5((g * k)::text)) from generate_series(1, 200) g, lateral generate_series(1, case when g % 20 = 0 then 200000 else 3 end) k group by g"
    printf '%s\n' '\set id random(1, 200)' "select doc -> 'key2' from d where id = :id;" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
statement-log)
    # The collector of the log stops now and then, as it does where its disk is busy.
    start primary 5432 'logging_collector = on' 'log_min_duration_statement = 0'
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    collector=$(pgrep -P "$(head -1 "$work/primary/postmaster.pid")" -f logger)
    stall() { kill -STOP "$collector"; sleep 0.5; kill -CONT "$collector"; sleep 1.5; }
    load repeat stall
    printf '%s\n' '\set id random(1, 100000)' "select abalance, '$(printf '%01000d' 1)' from pgbench_accounts where aid = :id;" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 6 -R 400 -T 600
    ;;
temporary-tables)
    start primary 5432
    printf '%s\n' '\set far random(1, 20)' '\if :far = 1' 'begin;' 'create temporary table s on commit drop as select generate_series(1, 100) n;' 'create index on s (n);' 'commit;' '\else' 'begin;' 'select 1;' 'commit;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 100 -T 600
    ;;
sort)
    start primary 5432 'work_mem = 64kB' 'max_parallel_workers_per_gather = 0'
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    printf '%s\n' '\set id random(1, 100000)' '\set far random(1, 20)' '\if :far = 1' 'select count(*) from (select aid, filler from pgbench_accounts order by filler, abalance offset 0) s;' '\else' \
        'select abalance from pgbench_accounts where aid = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
aggregate)
    start primary 5432 'work_mem = 64kB' 'hash_mem_multiplier = 1' 'enable_sort = off' 'max_parallel_workers_per_gather = 0'
    as "$bin/pgbench" -i -s 1 -q >/dev/null 2>&1
    printf '%s\n' '\set id random(1, 100000)' '\set far random(1, 20)' '\if :far = 1' 'select count(*) from (select (aid::bigint * 7919) % 100003 a, abalance, count(*) from pgbench_accounts group by 1, 2 offset 0) s;' '\else' \
        'select abalance from pgbench_accounts where aid = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
old-versions)
    # A transaction that stays open keeps the rows that a queue's readers have deleted.
    start primary 5432 'synchronous_commit = off' 'autovacuum = off' 'max_wal_size = 8GB'
    sql -c 'create table q (id bigint primary key, job text)' -c "insert into q select g, 'job' from generate_series(1, 300000) g" -c 'vacuum analyze q'
    load idle 'select txid_current(); declare c cursor for select 1;' 600
    sleep 1
    sql -c 'delete from q where id < 299000'
    printf '%s\n' '\set id random(299000, 300000)' '\set far random(1, 20)' '\if :far = 1' 'select job from q order by id limit 1;' '\else' 'select job from q where id = :id;' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
extension)
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB' 'autovacuum = off'
    sql -c 'create table t (id bigint, pad text)' -c 'alter table t alter pad set storage plain'
    printf '%s\n' "insert into t select g, repeat('x', 6000) from generate_series(1, 30) g;" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 8 -R 150 -T 600
    ;;
bad-plan)
    # A generic plan that fits most values, and not all.
    start primary 5432 'plan_cache_mode = force_generic_plan' 'max_parallel_workers_per_gather = 0'
    sql -c 'create table t (id int, kind int)' -c 'insert into t select g, least(g % 400, 20) from generate_series(1, 200000) g' -c 'create index on t (kind)' -c 'vacuum analyze t'
    printf '%s\n' '\set kind random(1, 20)' 'select sum(id) from t where kind = :kind;' >"$work/load.sql"
    load as "$bin/pgbench" -n -M prepared -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
function)
    start primary 5432
    sql -c 'create function digest(n int) returns int language plpgsql as $$ declare sum int := 0; begin for step in 1..n loop if step % 3 = 0 then sum := (sum * 31 + step) % 65521; end if; end loop; return sum; end $$'
    printf '%s\n' '\set far random(1, 20)' '\if :far = 1' 'select digest(300000);' '\else' 'select digest(10);' '\endif' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 60 -T 600
    ;;
plan-work)
    # The same statement for many rows and for few.
    start primary 5432
    printf '%s\n' '\set far random(1, 20)' '\set rows 10' '\if :far = 1' '\set rows 40000' '\endif' \
        'select count(*) from (select n % 1000, count(*) from generate_series(1, :rows) n group by 1) s;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 2 -R 200 -T 600
    ;;
serializable)
    # A transaction that stays open for a second: what others have read is remembered until it ends.
    start primary 5432 'synchronous_commit = off' 'default_transaction_isolation = serializable' 'max_pred_locks_per_transaction = 2000'
    sql -c 'create table t (id int primary key, n int)' -c 'insert into t select g, 0 from generate_series(1, 100000) g' -c 'vacuum analyze t'
    printf '%s\n' 'begin;' 'select n from t where id = 1;' '\sleep 1 s' 'update t set n = n + 1 where id = 1;' 'commit;' '\sleep 500 ms' >"$work/long.sql"
    printf '%s\n' '\set id random(100, 99000)' 'select sum(n) from t where id between :id and :id + 20;' '\set id random(100, 99000)' 'update t set n = n + 1 where id = :id;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/long.sql" -c 1 -T 600
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 16 -j 2 -T 600 --max-tries 100
    ;;
new-log-files)
    start primary 5432 'wal_recycle = off' 'min_wal_size = 32MB' 'max_wal_size = 64MB'
    sql -c 'create table t (pad text)' -c 'alter table t alter pad set storage plain'
    printf '%s\n' "insert into t select repeat('x', 5000) from generate_series(1, 80);" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 1 -R 60 -T 600
    ;;
dirty-buffers)
    # Nobody flushes the log but those who write a page that somebody has just changed.
    slow_disk
    start primary 5432 'shared_buffers = 1MB' 'autovacuum = off' 'synchronous_commit = off' 'bgwriter_lru_maxpages = 0' 'max_wal_size = 8GB' 'wal_writer_delay = 10s' 'wal_writer_flush_after = 1GB'
    as "$bin/pgbench" -i -s 10 -F 50 -q >/dev/null 2>&1
    printf '%s\n' '\set id random(1, 900000)' 'update pgbench_accounts set abalance = abalance + 1 where aid between :id and :id + 4;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 500 -T 600
    ;;
contended-pages)
    # All sessions enter keys at the same end of an index.
    start primary 5432 'synchronous_commit = off' 'max_wal_size = 8GB'
    sql -c 'create unlogged table t (id bigserial primary key, at timestamp default clock_timestamp())' -c 'create index on t (at)'
    echo 'insert into t select from generate_series(1, 300);' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 8 -j 2 -T 600
    ;;
small-transactions)
    start primary 5432 'synchronous_commit = off' 'autovacuum = off' 'max_wal_size = 8GB'
    sql -c 'create table t (id int primary key, n int) with (fillfactor = 20)' -c 'insert into t select g, 0 from generate_series(1, 3200) g' -c 'vacuum analyze t'
    echo 'update t set n = n + 1 where id = :client_id * 100 + 1;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 32 -j 2 -T 600
    ;;
missing-index-and-lock-waits)
    start primary 5432 'max_parallel_workers_per_gather = 0'
    as "$bin/pgbench" -i -s 20 -q >/dev/null 2>&1
    printf '%s\n' '\set value random(1, 500000)' 'select aid from pgbench_accounts where abalance = :value;' >"$work/scan.sql"
    printf '%s\n' 'begin;' 'update pgbench_branches set bbalance = bbalance + 1 where bid = 1;' 'select pg_sleep(0.02);' 'end;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/scan.sql" -c 1 -R 2 -T 600
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 30 -T 600
    ;;
small-buffers-and-commits)
    # One statement of ten reads so many pages that it adds as much variance as the commits.
    slow_disk
    start primary 5432 'shared_buffers = 16MB' 'autovacuum = off'
    as "$bin/pgbench" -i -s 20 -q >/dev/null 2>&1
    sql -c 'create table t (n bigint)'
    echo 'insert into t values (1);' >"$work/load.sql"
    echo 'select sum(abalance) from pgbench_accounts where aid = any(array(select (random() * 1900000)::int from generate_series(1, 1500)));' >"$work/read.sql"
    load as "$bin/pgbench" -n -f "$work/read.sql" -c 2 -R 20 -T 600
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 8 -R 180 -T 600
    ;;
other-server)
    # A foreign table on another server, which is slow for one row of twenty.
    start standby 5433
    start primary 5432
    as "$bin/psql" -p 5433 -Xqc 'create table t (id int primary key, n int); insert into t select g, g from generate_series(1, 10000) g' \
        -c 'create function slow(int) returns int language plpgsql as $$ begin if random() < 0.05 then perform pg_sleep(0.15); end if; return $1; end $$' \
        -c 'create view v as select id, slow(n) as n from t'
    sql -c "create extension postgres_fdw; create server other foreign data wrapper postgres_fdw options (host '$work', port '5433', dbname 'postgres');
        create user mapping for postgres server other; create foreign table v (id int, n int) server other"
    printf '%s\n' '\set id random(1, 10000)' 'select n from v where id = :id;' >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 4 -R 200 -T 600
    ;;
index-build)
    start primary 5432
    as "$bin/pgbench" -i -s 4 -q >/dev/null 2>&1
    index() { sql -c 'create index i on pgbench_accounts (filler, abalance)' -c 'drop index i'; sleep 0.5; }
    load repeat index
    load as "$bin/pgbench" -n -S -c 4 -R 200 -T 600
    ;;
slow-function)
    # One row in twenty has a password whose hash takes long.
    start primary 5432
    sql -c 'create extension pgcrypto' -c 'create table account (id int primary key, hash text)' \
        -c "insert into account select g, crypt('x', gen_salt('bf', case when g % 20 = 0 then 10 else 4 end)) from generate_series(1, 500) g"
    printf '%s\n' '\set id random(1, 500)' "select hash = crypt('x', hash) from account where id = :id;" >"$work/load.sql"
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 3 -R 60 -T 600
    ;;
row-policy)
    # The rows that a role may see depend on a second table, which has no index.
    start primary 5432
    as "$bin/pgbench" -i -s 2 -q >/dev/null 2>&1
    sql -c "create table member (name text, bid int); insert into member select 'x' || g, 1 from generate_series(1, 40000) g; insert into member values ('app', 1);
        create role app login; grant select on all tables in schema public to app; alter table pgbench_tellers enable row level security;
        create policy p on pgbench_tellers for select to app using (exists (select 1 from member m where m.name = current_user and m.bid = pgbench_tellers.bid))"
    printf '%s\n' '\set tid random(1, 20)' 'select tbalance from pgbench_tellers where tid = :tid;' >"$work/load.sql"
    load as env PGUSER=app "$bin/pgbench" -n -f "$work/load.sql" -c 1 -R 10 -T 600
    load as "$bin/pgbench" -n -f "$work/load.sql" -c 3 -R 200 -T 600
    ;;
*)
    unknown
    ;;
esac
profile "$(head -1 "$work/primary/postmaster.pid")" postgres "$@"
