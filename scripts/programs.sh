#!/bin/sh
# Profiles programs that nobody tuned the profiler for, each under a load whose cause of variance is known, and prints a table
# in Markdown.
#
#   scripts/programs.sh [sqlite] [rocksdb] [mariadb-10.2.11] [mariadb-11.4.5]      (all without arguments)
#
# Each runs for half a minute. Needs the release build; installs what is missing.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
evenkeel="$here/target/release/evenkeel"
[ -x "$evenkeel" ] || {
    echo "scripts/programs.sh: build first: cargo build --release -p evenkeel -p evenkeel-agent -p evenkeel-servers" >&2
    exit 2
}
if [ "$(id -u)" -eq 0 ]; then cache=/var/cache/evenkeel; else cache="${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel"; fi
scratch=$(mktemp -d)
chmod 755 "$scratch"
server=""
clean() {
    [ -z "$server" ] || pkill -f "$server" || true
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM

package() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "installing $2" >&2
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$2" >&2
}

# A row: program, interval, what is known to vary, the first three factors, and when the first of them came to the top.
row() {
    log=$4
    answer=$(sed -n '/^FACTORS/,/^VARIANCE/p' "$log" | grep -E '^ +[1-3]≈? ' |
        sed -E 's/^ +[0-9]+≈? +//; s/ {2,}[^ ]+ [µmn]?s +[a-zA-Z\/]+ +/ /' | paste -sd ';' | sed 's/;/; /g')
    first=$(sed -n '/^FACTORS/,/^VARIANCE/p' "$log" | grep -E '^ +1≈? ' | awk '{print $NF}')
    when=$(tr '\r' '\n' <"$log" | grep -oE 'after [0-9.]+ s, [0-9,]+ intervals: .*' | grep -F -m1 -- "$first" | grep -oE '[0-9.]+ s' | head -n 1)
    intervals=$(grep -m1 -oE '[0-9,]+ (of [0-9,]+ )?seen' "$log")
    printf '| %s | `%s` | %s | %s | %s | %s |\n' "$1" "$2" "$3" "$answer" "${when:-at the end}" "$intervals"
}

# sqlite3 commits each insert durably, between queries over an index.
sqlite() {
    package sqlite3 sqlite3
    awk 'BEGIN { srand(1); print "pragma journal_mode=wal; pragma synchronous=full; create table t(id integer primary key, k int, v text); create index i on t(k);";
        for (n = 0; n < 400000; n++) if (n % 3) printf "insert into t(k, v) values(%d, \"%0*d\");\n", rand() * 100000, rand() * 190 + 10, 0;
        else printf "select count(*) from t where k between %d and %d;\n", rand() * 100000, rand() * 100000 }' >"$scratch/load.sql"
    interval='libsqlite3.so.0!sqlite3_step'
    "$evenkeel" profile --interval "$interval" --for 25s -- \
        sh -c "exec sqlite3 $scratch/test.db <$scratch/load.sql >/dev/null" >"$scratch/sqlite.log" 2>&1
    row "SQLite $(sqlite3 --version | cut -d ' ' -f 1)" "$interval" "\`fdatasync\` of the log at each commit" "$scratch/sqlite.log"
}

rocksdb() {
    package db_bench rocksdb-tools
    interval='librocksdb.so!rocksdb::DBImpl::Write'
    "$evenkeel" profile --interval "$interval" --for 25s -- \
        db_bench --benchmarks=fillrandom --num=20000000 --sync=1 "--db=$scratch/rocksdb" >"$scratch/rocksdb.log" 2>&1
    version=$(tr '\r' '\n' <"$scratch/rocksdb.log" | grep -m1 -oE 'RocksDB: +version [0-9.]+' | grep -oE '[0-9.]+')
    row "RocksDB $version" "$interval" "the log's sync at each write" "$scratch/rocksdb.log"
}

# TPC-C begins some seconds after the profile. What varies is the wait for a row's lock (dissertation, table 2.1).
mariadb() {
    version=$1
    "$here/scripts/install.sh" "mariadb-$version"
    root="$cache/mariadb-$version"
    data="$scratch/mariadb-$version"
    mkdir -p "$data/data" "$data/tmp"
    program="$root/bin/mariadbd"
    [ -x "$program" ] || program="$root/bin/mysqld"
    as="env LD_LIBRARY_PATH=$root/libs"
    if [ "$(id -u)" -eq 0 ]; then
        id mysql >/dev/null 2>&1 || useradd --system mysql
        chown -R mysql "$data"
        as="setpriv --reuid mysql --clear-groups $as"
    fi
    options="--no-defaults --basedir=$root --lc-messages-dir=$root/share --datadir=$data/data --tmpdir=$data/tmp"
    options="$options --innodb-buffer-pool-size=512M --max-prepared-stmt-count=1000000 --local-infile=ON"
    prefix=mysql
    [ -f "$root/share/mysql_system_tables.sql" ] || prefix=mariadb
    {
        printf 'create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n'
        cat "$root/share/${prefix}_system_tables.sql" "$root/share/${prefix}_performance_tables.sql" \
            "$root/share/${prefix}_system_tables_data.sql"
        printf 'create database test;\n'
    } | $as "$program" $options --bootstrap >"$data/log" 2>&1
    port=$(shuf -i 20000-29999 -n 1)
    server="socket=$data/s"
    target="mysql://root@127.0.0.1:$port/test"
    (
        sleep 5
        "$evenkeel" bench tpcc --scale 2 --target "$target" --clients 8 --for 1s --no-check
        "$evenkeel" bench tpcc --scale 2 --target "$target" --clients 32 --for 30s --no-check
        pkill -f "$server"
    ) >"$data/load.log" 2>&1 &
    # shellcheck disable=SC2086 # word splitting wanted
    "$evenkeel" profile --preset mariadb -- $as "$program" $options "--socket=$data/s" --bind-address=127.0.0.1 "--port=$port" \
        >"$scratch/mariadb-$version.log" 2>&1
    wait
    server=""
    row "MariaDB $version, official build, TPC-C, 2 warehouses, 32 clients" "--preset mariadb" \
        "the wait for a row's lock" "$scratch/mariadb-$version.log"
}

[ $# -gt 0 ] || set -- sqlite rocksdb mariadb-10.2.11 mariadb-11.4.5
echo "| program | interval | known cause | first factors (share of variance) | first after | intervals |"
echo "|---|---|---|---|---|---|"
for program in "$@"; do
    case "$program" in
    sqlite) sqlite ;;
    rocksdb) rocksdb ;;
    mariadb-*) mariadb "${program#mariadb-}" ;;
    *)
        echo "usage: scripts/programs.sh [sqlite] [rocksdb] [mariadb-10.2.11] [mariadb-11.4.5]" >&2
        exit 2
        ;;
    esac
done
