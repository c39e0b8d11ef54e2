#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private MariaDB, and prints what the report finds.
#
#   scripts/patterns/mariadb.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# problem.sh has the variables that it reads. As root.
. "$(dirname "$0")/problem.sh"

start() { # SETTING..
    chown mysql "$work"
    mariadb-install-db --no-defaults --user=mysql --datadir="$work/data" --auth-root-authentication-method=normal >/dev/null 2>&1
    LD_PRELOAD=$preload mariadbd --no-defaults --user=mysql --datadir="$work/data" --socket="$work/socket" --skip-networking \
        --pid-file="$work/pid" "$@" >"$work/server.log" 2>&1 &
    server=$!
    await mariadb-admin --no-defaults -u root -S "$work/socket" ping
    sql -e 'create database d; create table d.t (id int primary key, n int)'
    sql d -e 'insert into t select seq, 0 from seq_1_to_20000'
}

# A second server, beside the one that is profiled.
replica() { # SETTING..
    mariadb-install-db --no-defaults --user=mysql --datadir="$work/replica" --auth-root-authentication-method=normal >/dev/null 2>&1
    mariadbd --no-defaults --user=mysql --datadir="$work/replica" --socket="$work/replica-socket" --skip-networking \
        --pid-file="$work/replica-pid" "$@" >"$work/replica.log" 2>&1 &
    replica=$!
    await mariadb-admin --no-defaults -u root -S "$work/replica-socket" ping
}
stop_servers() {
    local pid
    for pid in ${server:-} ${replica:-}; do kill "$pid" 2>/dev/null || true; done
}
sql() { mariadb --no-defaults -u root -S "$work/socket" "$@"; }

# Sends statements, one of them in twenty the second, if there is one. A % stands for a number up to 20000.
paced() { # STATEMENT [RARE STATEMENT [PAUSE]]
    python3 -c 'import random, sys, time
while True:
    statement = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] and random.random() < 0.05 else sys.argv[1]
    print(statement.replace("%", str(random.randint(1, 20000))), flush=True)
    time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 0.01)' "$@" | sql -N d
}
clients() { # NUMBER STATEMENT [RARE STATEMENT [PAUSE]]
    local number=$1
    shift
    for _ in $(seq "$number"); do load repeat paced "$@"; done
}

case $problem in
slow-function)
    start
    sql d -e 'create table z (id int primary key, b longblob); insert into z select seq, repeat(md5(seq), if(seq % 20 = 0, 40000, 1)) from seq_1_to_400'
    clients 3 'select length(compress(b)) from z where id = 1 + mod(%, 400);' '' 0.02
    ;;
metadata-lock)
    start
    idle() { printf '%s\n' 'begin; select count(*) from t where id = 1;' '\! sleep 0.8' 'commit;' | sql d; }
    stall() { idle >/dev/null & sleep 0.2; sql d -e 'alter table t comment "changed"'; wait $!; sleep 1.5; }
    load repeat stall
    clients 4 'select n from t where id = %;'
    ;;
read-lock)
    # A backup that locks all tables while it copies some of them.
    start
    backup() { printf '%s\n' 'flush tables with read lock;' '\! sleep 0.5' 'unlock tables;' | sql d; sleep 2; }
    load repeat backup
    clients 4 'update t set n = n + 1 where id = %;'
    ;;
next-key)
    start
    sql d -e 'create table a like t; create table o (id int primary key, paid date, amount int)'
    sql d -e "insert into o select seq, '2020-03-01', 1 from seq_1_to_800000"
    migrate() { sql d -e "insert ignore into a select id, amount from o where paid < '2020-03-08' and id % 1000 = 7"; sleep 0.7; }
    load repeat migrate
    clients 6 'update o set amount = amount + 1 where id = %;'
    ;;
hot-row)
    start
    clients 6 'begin; update t set n = n + 1 where id = 1; do sleep(0.01); commit;' '' 0.02
    ;;
user-lock)
    start
    clients 4 'do get_lock("job", 10); do sleep(0.01); do release_lock("job");' '' 0.02
    ;;
commits)
    start
    clients 8 'update t set n = n + 1 where id = %;'
    ;;
binary-log)
    start --log-bin="$work/data/binlog" --sync-binlog=1 --server-id=1
    clients 8 'update t set n = n + 1 where id = %;'
    ;;
query-cache)
    # A change takes all results of its table out of the cache, whose lock it holds for that time.
    start --query-cache-type=1 --query-cache-size=200M --innodb-flush-log-at-trx-commit=0
    seq 20000 | sed 's/.*/select n + & from t where id = &;/' >"$work/all.sql"
    change() { sql d <"$work/all.sql" >/dev/null; sql d -e 'update t set n = n + 1 where id = 1'; }
    load repeat change
    clients 4 'select n from t where id = %;' '' 0.002
    ;;
table-cache)
    start --table-open-cache=10 --table-definition-cache=400
    for table in $(seq 400); do echo "create table t$table (id int primary key, n int);"; done | sql d
    many=$(seq 2 30 | sed 's/.*/ union all select n from t&/' | tr -d '\n')
    clients 3 'select 1;' "select n from t1$many;"
    ;;
sort)
    start
    sql d -e "create table o (id int primary key, n int, pad char(200)); insert into o select seq, seq * 7919 % 100000, 'x' from seq_1_to_100000"
    clients 3 'select n from t where id = %;' 'select sum(length(pad)) from (select pad from o order by n limit 50000) s;'
    ;;
missing-index)
    start
    sql d -e "create table o (id int primary key, code int, pad char(50)); insert into o select seq, seq, 'x' from seq_1_to_100000"
    clients 3 'select pad from o where id = %;' 'select pad from o where code = %;'
    ;;
join)
    start
    sql d -e "create table o (id int primary key, code int); insert into o select seq, seq from seq_1_to_3000"
    sql d -e "create table p (id int primary key, code int); insert into p select seq, seq from seq_1_to_3000"
    clients 3 'select code from o where id = %;' 'select count(*) from o join p using (code) where o.id < 200;'
    ;;
trigger)
    start --innodb-flush-log-at-trx-commit=0
    sql d -e 'create table o (id int auto_increment primary key, n int)'
    sql d -e 'create trigger sums after insert on o for each row set @sum = (select sum(n) from t where id between new.n and if(new.n % 20 = 0, 20000, new.n))'
    clients 3 'insert into o (n) values (%);'
    ;;
table-lock)
    # A report reads a table whose engine locks it as a whole. A change waits for it, and all others wait behind the change.
    start
    sql d -e 'create table o (id int primary key, n int, pad char(60)) engine = MyISAM'
    sql d -e "insert into o select seq, seq, 'x' from seq_1_to_400000"
    report() { sql d -e 'select count(*) from o where sha2(concat(pad, n), 256) like "00000%"'; sleep 0.5; }
    load repeat report
    clients 10 'select n from o where id = %;' 'update o set n = n + 1 where id = %;' 0.02
    ;;
general-log)
    # One statement in twenty is long, and is written down whole.
    start --general-log --log-output=TABLE
    clients 4 'select n from t where id = %;' "select n from t where id = % /* $(printf '%0200000d' 1) */;" 0.005
    ;;
metadata-queue)
    # A transaction of many statements holds up a change of a table, and that all others. Nobody is idle.
    start
    sql d -e 'create table o like t; insert into o select * from t'
    { echo 'begin; select count(*) from t where id = 1;'; yes 'select sum(n) from o;' | head -200; echo 'commit;'; } >"$work/long.sql"
    stall() { sql d <"$work/long.sql" >/dev/null & sleep 0.2; sql d -e 'alter table t comment "changed"'; wait $!; sleep 1.5; }
    load repeat stall
    clients 4 'select n from t where id = %;'
    ;;
own-flush)
    # One session: each commit writes and flushes by itself.
    start
    clients 1 'update t set n = n + 1 where id = %;'
    ;;
copying)
    start --innodb-flush-log-at-trx-commit=0
    sql d -e "create table o (id int primary key, n int, pad char(50)); insert into o select seq, seq, 'x' from seq_1_to_150000"
    change() { sql d -e 'alter table o engine = InnoDB, algorithm = copy'; sleep 0.5; }
    load repeat change
    clients 2 'select n from t where id = %;' '' 0.05
    ;;
numbering)
    start --innodb-flush-log-at-trx-commit=0
    sql d -e 'create table o (id int auto_increment primary key, n int)'
    import() { sql d -e 'insert into o (n) select seq from seq_1_to_100000'; sleep 1; }
    load repeat import
    clients 4 'insert into o (n) values (%);'
    ;;
small-pool)
    start --innodb-buffer-pool-size=8M --innodb-flush-log-at-trx-commit=0
    sql d -e "create table o (id int primary key, n int, pad char(200)); insert into o select seq, seq, 'x' from seq_1_to_200000"
    clients 3 'select n from t where id = %;' 'select sum(n) from o where id between 9 * % and 9 * % + 5000;'
    ;;
slow-client)
    # A client that takes a large result bit by bit.
    start
    sql d -e "create table o (id int primary key, pad varchar(2000)); insert into o select seq, repeat('x', 2000) from seq_1_to_10000"
    take() { sql -q -N d -e 'select pad from o' | python3 -c 'import sys, time
while sys.stdin.buffer.read(200000): time.sleep(0.005)'; sleep 0.5; }
    load repeat take
    clients 3 'select n from t where id = %;'
    ;;
other-programs)
    start
    for _ in $(seq $((3 * $(nproc)))); do load python3 -c 'while True: pass'; done
    clients 1 'select sum(n) from t;'
    ;;
crowded)
    start
    for _ in $(seq $((4 * $(nproc)))); do load repeat paced 'select sum(n) from t;' '' 0; done
    ;;
free-pages)
    # Each statement changes a row on each of twenty pages. The pool has room for few of them, and they are written more slowly than read.
    slow_disk
    start --innodb-buffer-pool-size=32M --innodb-log-file-size=512M --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=fsync --innodb-use-native-aio=0 --innodb-write-io-threads=2
    sql d -e "create table o (id int primary key, n int, pad char(200)); insert into o select seq, seq, 'x' from seq_1_to_300000"
    clients 3 "update o set n = n + 1 where id in ($(seq -s ', ' -f '%.0f + %%' 0 14000 279999));" '' 0.02
    ;;
undo-log)
    # All transactions begin their undo logs in one file, whose latch is held while a page is read.
    start --innodb-buffer-pool-size=8M --innodb-log-file-size=512M --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=fsync
    sql d -e "create table o (id int primary key, n int, pad char(200)); insert into o select seq, seq, 'x' from seq_1_to_300000"
    clients 6 'update o set n = n + 1 where id = 15 * %;' '' 0.002
    ;;
redo-log)
    start --innodb-log-file-size=4M --innodb-flush-log-at-trx-commit=0
    sql d -e "create table o (id int primary key, n int, pad varchar(2000)); insert into o select seq, seq, repeat('x', 2000) from seq_1_to_50000"
    clients 4 "update o set n = n + 1, pad = repeat(char(65 + rand() * 25), 2000) where id between 2 * % and 2 * % + 20;" '' 0.002
    ;;
adaptive-hash)
    # The pool holds a part of the index. Each page enters the hash index soon, and leaves it when it leaves the pool.
    start --innodb-adaptive-hash-index=on --innodb-buffer-pool-size=24M --innodb-flush-method=fsync --innodb-flush-log-at-trx-commit=0
    sql d -e "create table o (code int primary key); insert into o select seq from seq_1_to_4000000"
    clients 3 'select n from t where id = %;' 'select count(*) from t straight_join o on o.code = 100 * % + t.id where t.id <= 6000;'
    ;;
index-pages)
    # A large value goes to the end of the table. The last page is latched while it is stored, and others insert there.
    start --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=512M --innodb-log-file-size=4G --innodb-log-buffer-size=256M --max-allowed-packet=64M
    sql d -e 'create table o (id int auto_increment primary key, pad longblob)'
    clients 6 'insert into o (pad) values ("x");' '' 0.003
    clients 1 'insert into o (pad) values (repeat(repeat("x", 10000), 300));' '' 0.03
    ;;
old-versions)
    # A transaction that began long ago reads rows that have changed since then.
    start --innodb-flush-log-at-trx-commit=0
    sql d -e 'create table o (id int primary key, n int); insert into o select seq, seq from seq_1_to_200'
    report() {
        { echo 'start transaction with consistent snapshot;'
            for _ in $(seq 300); do echo 'select sum(n) from o;'; sleep 0.01; done
            echo 'commit;'; } | sql -N d
    }
    change() { yes 'update o set n = n + 1;' | head -200 | sql d; }
    load repeat change
    load repeat report
    clients 2 'select n from t where id = %;'
    ;;
purge)
    # A queue whose rows are deleted, and a transaction that stays open.
    start --innodb-flush-log-at-trx-commit=0
    sql d -e "create table o (id int auto_increment primary key, pad char(50)); insert into o (pad) select 'x' from seq_1_to_800000"
    hold() { printf '%s\n' 'start transaction with consistent snapshot; select n from t where id = 1;' '\! sleep 600' 'commit;' | sql d; }
    load hold
    sleep 1
    sql d -e 'delete from o where id < 799000'
    clients 3 'select n from t where id = %;' 'select id from o order by id limit 1;' 0.02
    ;;
plan-work)
    # The same statement for many rows and for few.
    start
    sql d -e "create table o (id int primary key, k int, pad char(50), key (k)); insert into o select seq, if(seq % 2, seq, 0), 'x' from seq_1_to_20000"
    clients 3 'select max(pad) from o force index (k) where k = % * 2 + 1;' 'select max(pad) from o force index (k) where k = 0;' 0.003
    ;;
rollback)
    # The last step of a job fails, and all of its changes are undone.
    start --innodb-flush-log-at-trx-commit=0
    sql d -e 'create table o (id int primary key, n int); insert into o select seq, 0 from seq_1_to_100000'
    { echo 'begin;'; for row in $(seq 100 100 40000); do echo "update o set n = n + 1 where id between $row - 99 and $row;"; done; echo 'rollback;'; } >"$work/job.sql"
    job() { sql d <"$work/job.sql"; sleep 0.1; }
    load repeat job
    clients 1 'select n from t where id = %;' '' 0.005
    ;;
stored-function)
    start
    sql d -e 'create function checksum_of(x int) returns int deterministic return conv(left(sha2(repeat(x, 50000), 512), 7), 16, 10)'
    clients 3 'select n from t where id = %;' 'select sum(checksum_of(id)) from t where id <= 40;' 0.004
    ;;
subquery)
    start
    sql d -e 'create table o (id int primary key, k int, n int, key (k, n)); insert into o select seq, seq % 100, seq from seq_1_to_40000'
    clients 3 'select n from t where id = %;' 'select sum((select sum(o.n) from o where o.k = t.id)) from t where t.id < 100;' 0.005
    ;;
large-transaction)
    # A transaction of many rows is copied to the binary log at its commit, and the other commits wait for that.
    start --log-bin="$work/data/binlog" --binlog-format=row --server-id=1 --innodb-flush-log-at-trx-commit=0 --innodb-log-file-size=512M --max-binlog-size=1G
    sql d -e "create table o (id int primary key, n int, pad varchar(2000)); insert into o select seq, 0, repeat('x', 2000) from seq_1_to_4000"
    { echo 'begin;'; for row in $(seq 20 20 4000); do echo "update o set n = n + 1 where id between $row - 19 and $row;"; done; echo 'commit;'; } >"$work/job.sql"
    job() { sql d <"$work/job.sql"; sleep 0.1; }
    load repeat job
    clients 4 'update t set n = n + 1 where id = %;'
    ;;
replica)
    # Each commit waits until a replica has it.
    port=$(free_port)
    start --skip-networking=0 --bind-address=127.0.0.1 --port="$port" --log-bin="$work/data/binlog" --server-id=1 --innodb-flush-log-at-trx-commit=0 \
        --rpl-semi-sync-master-enabled=on
    sql -e "grant replication slave on *.* to replica@localhost identified by 'replica'"
    chmod 777 "$work"
    replica --server-id=2 --relay-log="$work/replica/relay" --sync-relay-log=1 --rpl-semi-sync-slave-enabled=on
    mariadb --no-defaults -u root -S "$work/replica-socket" -e "change master to master_host = '127.0.0.1', master_port = $port, master_user = 'replica',
        master_password = 'replica', master_use_gtid = no; start slave"
    clients 4 'update t set n = n + 1 where id = %;'
    ;;
schema-query)
    start --table-open-cache=100 --table-definition-cache=400
    for table in $(seq 400); do echo "create table t$table (id int primary key, n int);"; done | sql d
    clients 3 'select n from t where id = %;' "select count(*), sum(data_length) from information_schema.tables where table_schema = 'd';" 0.003
    ;;
foreign-key)
    # With a row of one table go many of another.
    start --innodb-flush-log-at-trx-commit=0
    sql d -e 'create table p (id int primary key); create table c (id int primary key, p int, key (p), foreign key (p) references p (id) on delete cascade)'
    sql d -e 'insert into p select seq from seq_1_to_1000; insert into c select seq, 1 + seq % 1000 from seq_1_to_400000'
    clients 2 'select n from t where id = %;' 'delete from p limit 1;'
    ;;
*)
    unknown
    ;;
esac
profile "$server" mariadb "$@"
