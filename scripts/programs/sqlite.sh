# sqlite3 commits each insert durably, between queries over an index; without the cause no commit waits for a disk.
options='--interval libsqlite3.so.0!sqlite3_step'
cause="\`fdatasync\` of the log at each commit"
among=fdatasync

prepare() {
    package sqlite3 sqlite3
    package python3 python3
    title="SQLite $(sqlite3 --version | cut -d ' ' -f 1)"
    cat >"$place/statements.py" <<'PYTHON'
import random, sys, time
seconds, period = map(float, sys.argv[1:])
random.seed(1)
print("pragma journal_mode=wal; create table t(id integer primary key, k int, v text); create index i on t(k);")
print(".output /dev/null")
began, synced, inserted = time.time(), None, 0
while (passed := time.time() - began) < seconds:
    slow = not period or int(passed / period) % 2 == 1
    if slow != synced:
        print(f"pragma synchronous={'full' if slow else 'off'};")
        synced = slow
    if random.randrange(3) == 0:
        print(f"select count(*) from (select 1 from t where k >= {random.randrange(100000)} limit {random.randrange(2000)});")
    else:
        print(f"insert into t(k, v) values({random.randrange(100000)}, '{'x' * random.randrange(10, 200)}');")
        inserted += 1
print(f".output stdout\nselect count(*) - {inserted} from t;")
PYTHON
}

run() {
    rm -f "$place/db"*
    # shellcheck disable=SC2016 # for the inner shell
    words='python3 "$1/statements.py" "$2" "$3" | sqlite3 "$1/db"'
    at_seconds=$1
    period=$2
    shift 2
    "$@" sh -c "$words" sh "$place" "$at_seconds" "$period"
}
