#!/bin/bash
# Attaches to H2 or Cassandra under load and detaches again, many times, on every JDK of this machine, and checks that the
# JVM is unharmed. No session may be refused, and no request may fail. Memory, descriptors and threads may not grow.
#
#   scripts/jvm/cycles.sh [CYCLES] [PAIRS] [h2|cassandra]     200 cycles, 0 pairs, h2
#
# JAVA_OPTIONS are for the JVM. SECONDS_EACH=2 is the length of a session. EVENKEEL is another build than
# target/release/evenkeel.
# Prints one line a JDK. With PAIRS it then compares throughput: without probes, with them (PROBES=100 at most), and without
# them (A/A). Each is measured for MEASURED=8 seconds once the JVM's compilers are idle. It prints median ratios with their
# quartiles, and for how long the JVM was at less than half of its speed after attaching and after the end. Other work on the
# machine disturbs that, and nothing else here.
#
# Growth is counted from the tenth cycle (of fewer than 20, the first) to the last. The bounds, which fail the script:
# - metaspace: 8 MB. HotSpot keeps the last version of a class that was loaded again, and frees earlier ones when it
#   collects classes;
# - compiled code: 32 MB. HotSpot compiles classes again that were loaded again, and clears old code away later;
# - descriptors: 8. Threads: 8, since the JVM adds compilers as it needs them.
# Classes are not counted: the JVM counts a class as another one each time that it is loaded again.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
evenkeel="${EVENKEEL:-$here/target/release/evenkeel}"
cycles="${1:-200}"
pairs="${2:-0}"
server="${3:-h2}"
each="${SECONDS_EACH:-2}"
measured="${MEASURED:-8}"
[ -x "$evenkeel" ] || {
    echo "scripts/jvm/cycles.sh: build first: cargo build --release -p evenkeel -p evenkeel-agent" >&2
    exit 2
}
cache="${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel"
[ "$(id -u)" -ne 0 ] || cache=/var/cache/evenkeel
jars="$cache/jvm/$server/*"
programs="$here/scripts/jvm/programs"
case "$server" in
h2) program=$programs/Statements.java options="" newest=99 ;;
# It installs a security manager.
cassandra) program=$here/cli/tests/java/Table.java options="@$here/cli/tests/java/cassandra.options -Dlazy=true -Xmx512m" newest=23 ;;
*)
    echo "scripts/jvm/cycles.sh: h2 or cassandra, and not $server" >&2
    exit 2
    ;;
esac
[ -d "${jars%/*}" ] || {
    echo "scripts/jvm/cycles.sh: there is no $server: scripts/install.sh jvm" >&2
    exit 2
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jvm-cycles.XXXXXX")
pid=""
clean() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM

# Requests that succeeded and failed, kilobytes of metaspace and code, descriptors, threads.
uses() {
    echo >&"$to"
    read -r line <&"$from"
    echo "$line $(ls "/proc/$pid/fd" | wc -l) $(ls "/proc/$pid/task" | wc -l)"
}

# Requests a second, measured for some seconds.
rate() {
    local before after
    before=$(uses)
    sleep "$1"
    after=$(uses)
    echo $(((${after%% *} - ${before%% *}) / $1))
}

attach() { "$evenkeel" attach "$pid" --preset "$server" "$@"; }

# Grows: what, from, to, bound.
check_growth() {
    [ $(($3 - $2)) -le "$4" ] || echo "$1 grew by $(($3 - $2)), and $4 is the bound" >>"$scratch/failed"
}

# Processor time of the JVM's compilers, hundredths of a second.
compiled() {
    local task name
    for task in /proc/"$pid"/task/*; do
        read -r name <"$task/comm" || continue
        case "$name" in "C1 Compiler"* | "C2 Compiler"* | JVMCI*) sed 's/.*) //' "$task/stat" || true ;; esac
    done 2>/dev/null | awk '{ ticks += $12 + $13 } END { print ticks + 0 }'
}

# Waits, in turns of two seconds, until the compilers are idle (a tenth of a processor) and the JVM is at half of its speed
# again, three turns in a row. Three minutes at most. Prints for how many seconds it was below half.
settle() { # RATE
    local slow=0 good=0 turns=0 before after
    after=$(compiled)
    while [ "$good" -lt 3 ] && [ "$turns" -lt 90 ]; do
        before=$after
        turns=$((turns + 1))
        good=$((good + 1))
        if [ $((2 * $(rate 2))) -lt "$1" ]; then
            slow=$((slow + 2))
            good=0
        fi
        after=$(compiled)
        # A compiler that ended takes its time with it.
        [ $((after - before)) -lt 20 ] && [ "$after" -ge "$before" ] || good=0
    done
    echo "$slow"
}

compare() {
    local plain slow slow_after probed again probes
    : >"$scratch/ratios"
    # Until the load has begun, and all code is compiled.
    sleep 20
    settle 0 >"$scratch/first"
    for _ in $(seq "$pairs"); do
        plain=$(rate "$measured")
        "$evenkeel" attach "$pid" --preset "$server" --max-probes "${PROBES:-100}" >"$scratch/pair.log" 2>&1 &
        session=$!
        # Its first step is made within a few seconds.
        sleep 4
        slow=$(settle "$plain")
        probed=$(rate "$measured")
        kill "$session"
        wait "$session" || true
        slow_after=$(settle "$plain")
        again=$(rate "$measured")
        probes=$(grep -o 'with [0-9]* probes' "$scratch/pair.log" | head -n 1)
        echo "requests a second: $plain plain, $probed ${probes:-with no probe}, $again plain" >&2
        awk -v p="$probed" -v a="$plain" -v b="$again" -v s="$slow" -v e="$slow_after" \
            'BEGIN { print 2 * p / (a + b), b / a, s, e }' >>"$scratch/ratios"
    done
    local column=0 what
    for what in 'throughput with probes / plain' 'plain after / plain before' 'seconds below half after attaching' 'seconds below half after the end'; do
        column=$((column + 1))
        sort -n -k "$column" "$scratch/ratios" | awk -v what="$what" -v column="$column" '{ r[NR] = $column } END {
            printf "%s: median %.3f (quartiles %.3f to %.3f, %d pairs)\n",
                what, r[int((NR + 1) / 2)], r[int((NR + 3) / 4)], r[int((3 * NR + 1) / 4)], NR }'
    done
}

run() {
    java=$1/bin
    mkdir -p "$scratch/classes" "$scratch/data"
    "$java/javac" -proc:none -nowarn -d "$scratch/classes" -cp "$jars" "$program" "$programs/Clients.java"
    cd "$scratch/data"
    # shellcheck disable=SC2086
    coproc SERVER { exec "$java/java" -Xmx256m $options ${JAVA_OPTIONS:-} -cp "$jars:$scratch/classes" "$(basename "$program" .java)" 2>"$scratch/server.log"; }
    pid=$SERVER_PID
    exec {from}<&"${SERVER[0]}" {to}>&"${SERVER[1]}"
    # It answers once its clients have begun.
    uses >"$scratch/first"
    sleep 5
    refused=0
    at_first=""
    first=$((cycles < 20 ? 1 : 10))
    began=$(date +%s)
    for cycle in $(seq "$cycles"); do
        if ! attach --for "${each}s" >"$scratch/cycle.log" 2>&1; then
            refused=$((refused + 1))
            echo "cycle $cycle:" >&2
            tail -n 4 "$scratch/cycle.log" >&2
        fi
        [ -d "/proc/$pid" ] || {
            tail -n 20 "$scratch/server.log" >&2
            echo "the JVM has ended in cycle $cycle" >&2
            exit 1
        }
        [ "$cycle" -ne "$first" ] || at_first=$(uses)
        [ $((cycle % 50)) -ne 0 ] || echo "$cycle cycles in $(($(date +%s) - began)) s: $(uses)" >&2
    done
    read -r _ _ metaspace0 code0 files0 threads0 <<<"$at_first"
    read -r done failed metaspace code files threads <<<"$(uses)"
    echo "$(basename "$1"): $cycles cycles in $(($(date +%s) - began)) s, $refused refused; $done requests succeeded, $failed failed;" \
        "grew by $((metaspace - metaspace0)) kB of metaspace, $((code - code0)) kB of compiled code," \
        "$((files - files0)) descriptors, $((threads - threads0)) threads"
    check_growth "metaspace (kB)" "$metaspace0" "$metaspace" 8192
    check_growth "compiled code (kB)" "$code0" "$code" 32768
    check_growth descriptors "$files0" "$files" 8
    check_growth threads "$threads0" "$threads" 8
    [ "$refused" -eq 0 ] || echo "$refused sessions were refused" >>"$scratch/failed"
    [ "$failed" -eq 0 ] || echo "$failed requests failed" >>"$scratch/failed"
    [ "$pairs" -eq 0 ] || compare
    exec {to}>&- {from}<&-
    kill "$pid"
    wait "$pid" || true
    pid=""
    cd "$here"
    rm -rf "$scratch/classes" "$scratch/data"
}

for home in $(for one in /usr/lib/jvm/* ${JAVA_HOME:-}; do [ ! -x "$one/bin/javac" ] || realpath "$one"; done | sort -u); do
    version=$("$home/bin/java" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p')
    [ "$version" -gt "$newest" ] || run "$home"
done
if [ -s "$scratch/failed" ]; then
    cat "$scratch/failed" >&2
    exit 1
fi
