#!/bin/sh
# Measures the tables of bench/drive/RESULTS.md on this machine, which should have nothing else to do.
#
#   scripts/tables.sh [-n] [-o DIR] [TABLE...]
#
# Without a TABLE all of them, in the order of the list below. What `evenkeel bench compare` prints goes to
# DIR/TABLE.txt (default: target/tables), a comparison behind the other; -n only shows the commands.
# ROUNDS and FOR in the environment (default 5 and 10s) say how often and for how long each configuration is measured.
set -eu

cd "$(dirname "$0")/.."
tables="schedules clients workloads tax micro pool flush blocks streams workers grants beside"
out=target/tables
dry=""
while getopts no: option; do
    case "$option" in
    n) dry=1 ;;
    o) out=$OPTARG ;;
    *)
        sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- $tables

evenkeel=${EVENKEEL:-target/release/evenkeel}
rounds=${ROUNDS:-5}
length=${FOR:-10s}
schedules="--schedule=fifo --schedule=random --schedule=vats --schedule=ldsf --schedule=bldsf"
three="--schedule=fifo --schedule=vats --schedule=ldsf"

run() {
    echo "\$ evenkeel $*" | tee -a "$out/$table.txt"
    [ -n "$dry" ] || "$evenkeel" "$@" >>"$out/$table.txt" 2>>"$out/$table.err" || echo "failed, see $out/$table.err"
}

# compare "CONFIGURATION ..." ARGUMENT...: a configuration is one option, and one word.
compare() {
    with=""
    for configuration in $1; do
        with="$with --with=$configuration"
    done
    shift
    # shellcheck disable=SC2086 # one --with a word
    run bench compare --rounds "$rounds" $with "$@" --for "$length"
}

# TPC-C at parts of FIFO's saturation, open loop (VATS paper section 7.2, contention-aware scheduling section 6): with locks
# released when the commit is in the log, as InnoDB does, and when it is durable, as PostgreSQL does.
schedules() {
    for release in logged durable; do
        for load in 70% 85% 95%; do
            compare "$schedules" tpcc --set release=$release --load $load --clients 64
        done
    done
    for load in 70% 85% 95%; do
        compare "$schedules" tpcc --scale 8 --load $load --clients 64
    done
}

# TPC-C, closed loop, from one client to many.
clients() {
    for clients in 1 4 16 64 256; do
        compare "$three" tpcc --clients $clients
    done
    compare "$three" tpcc --scale 8 --clients 64
}

# The other workloads: without contention schedules should not differ.
workloads() {
    for workload in tatp seats epinions ycsb-a; do
        compare "$three" $workload --load 70%
    done
}

# What a schedule costs where it has nothing to decide: one client, commits that do not wait for the disk, both at the same time,
# many short rounds. Two runs of FIFO tell how much of it is the machine.
tax() (
    length=1s
    rounds=$((6 * rounds))
    for workload in tatp seats epinions ycsb-a; do
        for schedule in fifo vats ldsf; do
            compare "--schedule=fifo --schedule=$schedule" --together $workload --clients 1 --set flush=lazy-write --warmup 200ms
        done
    done
)

# The papers' microbenchmark over skew and the part of exclusive locks.
micro() {
    compare "$schedules" micro -o theta=0.5 -o exclusive=1 --load 85% --clients 64
    compare "$schedules" micro -o theta=0.9 -o exclusive=1 --load 85% --clients 64
    compare "$schedules" micro -o theta=0.9 -o exclusive=0.2 --load 85% --clients 64
}

# Lazy LRU Update, and the pool in parts of the data (VATS paper figure 4; dissertation figure 3.4). 80,000 records of YCSB are
# 124 MB of pages, a warehouse of TPC-C is 140 MB: the pool has 33, 66 and 100 % of that. Commits that do not wait for the disk
# leave the list's lock something to limit.
pool() {
    for mb in 41 82 124; do
        compare "--set=replacement=lru --set=replacement=llu" ycsb-b -o records=80000 --set pool-mb=$mb \
            --set flush=lazy-write --clients 8
    done
    compare "--set=pool-mb=46 --set=pool-mb=92 --set=pool-mb=140" tpcc --load 70% --clients 32
}

flush() {
    compare "--set=flush=eager-flush --set=flush=lazy-flush --set=flush=lazy-write" tpcc --load 70% --clients 32
}

blocks() {
    compare "--set=log-block-bytes=4096 --set=log-block-bytes=8192 --set=log-block-bytes=16384 --set=log-block-bytes=32768 --set=log-block-bytes=65536" \
        tpcc --scale 8 --clients 16
}

streams() {
    for clients in 8 32; do
        compare "--set=log-streams=1 --set=log-streams=2 --set=log-streams=4" tpcc --scale 8 --clients $clients
    done
}

# Worker threads that execute queued transactions (VATS paper section 4.3; dissertation figure 3.1).
workers() {
    compare "--set=workers=1 --set=workers=2 --set=workers=4 --set=workers=8 --set=workers=16" tpcc --load 70% --clients 64
}

# Age and remaining time at lock grants (dissertation figure 3.2).
grants() {
    for schedule in fifo ldsf; do
        run bench tpcc --schedule $schedule --clients 32 --for 20s --grants
    done
}

# Beside other stores on the same machine, each commit on disk before it is answered.
beside() {
    targets="--target=postgres --target=embedded --target=sqlite --target=mariadb"
    for clients in 1 2; do
        for workload in tpcc ycsb-a ycsb-b ycsb-c; do
            compare "$targets" $workload --clients $clients
        done
    done
}

mkdir -p "$out"
for table in "$@"; do
    case " $tables " in
    *" $table "*) ;;
    *)
        echo "no table $table; there are $tables" >&2
        exit 2
        ;;
    esac
    : >"$out/$table.txt"
    $table
done
