# RocksDB's own benchmark writes and syncs; without the cause it does not sync.
options='--interval librocksdb.so!rocksdb::DBImpl::Write'
cause="the log's sync at each write"
among='Sync|fdatasync'

prepare() {
    package db_bench rocksdb-tools
    title="RocksDB $(version_of rocksdb-tools)"
}

run() {
    benchmarks=fillsync
    each=$1
    if [ "$2" -gt 0 ]; then
        benchmarks=fillrandom,fillsync,fillrandom
        each=$2
    fi
    shift 2
    # How many operations and how fast differs from run to run.
    "$@" sh -c 'db_bench "$@" 2>&1 | grep -oE "^fill[a-z]+|rror.*"' sh "--benchmarks=$benchmarks" --num=20000000 \
        "--duration=$each" "--db=$place/db"
}
