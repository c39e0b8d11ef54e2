#!/bin/sh
# Runs a server's own test suite with every call site of the server planted, and once more with its waits followed.
#
#   scripts/test-suites.sh [--debug] [--part] [redis]
#
# Each server that the suite starts is attached to (it keeps its process id, by which suites stop their servers). What fails and does
# not fail in the plain run is named, and the exit status is 1. --part runs a few of the tests only. The suites are those of the
# distribution's source package, fetched into $EVENKEEL_SUITES (default: a temporary directory), since packages do not have them.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
build=release
part=""
while :; do
    case "${1:-}" in
    --debug) build=debug ;;
    --part) part=yes ;;
    *) break ;;
    esac
    shift
done
evenkeel="$here/target/$build/evenkeel"
[ -x "$evenkeel" ] || {
    echo "scripts/test-suites.sh: build first: cargo build$([ $build = debug ] || echo " --release") -p evenkeel -p evenkeel-agent" >&2
    exit 2
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
sources="${EVENKEEL_SUITES:-$scratch/sources}"
mkdir -p "$sources"

# Unpacks the upstream archive of a source package and prints its directory.
source_of() {
    found=$(find "$sources" -maxdepth 1 -type d -name "$1-*" | head -n 1)
    if [ -z "$found" ]; then
        lists="$scratch/lists"
        mkdir -p "$lists/partial"
        . /etc/os-release
        echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" >"$scratch/sources.list"
        options="-o Dir::Etc::SourceList=$scratch/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$lists"
        # shellcheck disable=SC2086 # word splitting wanted
        (cd "$sources" && apt-get -q $options update && apt-get -q $options source --download-only "$1") >"$scratch/fetched" 2>&1 || {
            tail -n 5 "$scratch/fetched" >&2
            echo "scripts/test-suites.sh: the source package $1 could not be fetched" >&2
            exit 2
        }
        for archive in "$sources/$1"_*.orig.tar.*; do tar -x -C "$sources" -f "$archive"; done
        found=$(find "$sources" -maxdepth 1 -type d -name "$1-*" | head -n 1)
    fi
    echo "$found"
}

# Writes a program $1 that becomes $2, and is attached to then, with the options after them, for as long as it runs.
wrapper() {
    file=$1
    program=$2
    shift 2
    cat >"$file" <<END
#!/bin/sh
(
    while [ "\$(readlink /proc/\$\$/exe)" = "$(readlink -f /bin/sh)" ]; do sleep 0.02; done
    log=\$(mktemp "$scratch/attached.XXXXXX")
    "$evenkeel" attach \$\$ $* >"\$log" 2>&1 || echo "exit status \$?" >>"\$log"
) </dev/null >/dev/null 2>&1 &
exec "$program" "\$@"
END
    chmod 755 "$file"
}

# Tests that passed, one a line, of Redis' runner.
redis_passed() {
    sed 's/\x1b\[[0-9;]*m//g' "$1" | grep -oE '\[ok\]: .*' | sed -E 's/ \([0-9]+ ms\)$//' | sort
}

redis() {
    command -v tclsh >/dev/null 2>&1 || { echo "scripts/test-suites.sh: needs tclsh (apt-get install tcl)" >&2 && exit 2; }
    directory=$(source_of redis)
    server=$(command -v redis-server)
    for tool in redis-cli redis-benchmark redis-check-aof; do
        ln -sf "$(command -v $tool)" "$directory/src/$tool"
    done
    tests=""
    if [ -n "$part" ]; then
        for name in unit/type/string unit/type/list unit/type/hash unit/expire unit/multi; do tests="$tests --single $name"; done
    fi
    for mode in plain every waits; do
        case $mode in
        plain) ln -sf "$server" "$directory/src/redis-server" ;;
        every) rm -f "$directory/src/redis-server" && wrapper "$directory/src/redis-server" "$server" --preset redis --plant every ;;
        waits) rm -f "$directory/src/redis-server" && wrapper "$directory/src/redis-server" "$server" --preset redis --waits ;;
        esac
        # shellcheck disable=SC2086 # word splitting wanted
        (cd "$directory" && ./runtest --clients 2 --timeout 600 $tests) >"$scratch/redis-$mode" 2>&1 || true
        redis_passed "$scratch/redis-$mode" >"$scratch/redis-$mode.passed"
        attached=$(find "$scratch" -name 'attached.*' | wc -l)
        seen=$(cat "$scratch"/attached.* 2>/dev/null | grep -cE ' seen' || true)
        echo "redis, $mode: $(wc -l <"$scratch/redis-$mode.passed") tests passed; $attached servers attached to, intervals seen in $seen"
        for log in "$scratch"/attached.*; do
            grep -qsE ' seen' "$log" || tail -n 2 "$log" 2>/dev/null | head -n 1 | cut -c 1-150
        done | sort | uniq -c | sort -rn | sed 's/^/    no profile: /' | head -n 5
        rm -f "$scratch"/attached.*
        if [ $mode != plain ]; then
            missing=$(comm -23 "$scratch/redis-plain.passed" "$scratch/redis-$mode.passed")
            [ -z "$missing" ] || {
                echo "passed in the plain run alone, $(printf '%s\n' "$missing" | wc -l) tests, the first being:"
                printf '%s\n' "$missing" | head -n 20
                echo "the end of the profiled run:"
                tail -n 15 "$scratch/redis-$mode"
                failed=yes
            }
            # A run that profiles nothing proves nothing.
            [ "$seen" -gt 0 ] || { echo "no server was profiled" && failed=yes; }
        fi
    done
    [ -s "$scratch/redis-plain.passed" ] || { tail -n 20 "$scratch/redis-plain" && failed=yes; }
}

failed=""
[ $# -gt 0 ] || set -- redis
for suite in "$@"; do
    case "$suite" in
    redis) redis ;;
    *)
        echo "usage: scripts/test-suites.sh [--debug] [--part] [redis]" >&2
        exit 2
        ;;
    esac
done
[ -z "$failed" ]
