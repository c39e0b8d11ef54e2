#!/bin/sh
# Runs servers' own test suites with every call site of the server timed, and once more with its waits followed.
#
#   scripts/test-suites.sh [--debug] [--part] [redis] [postgres] [mariadb]      all without names
#
# A test that fails here and not in the plain run is named, and the exit status is 1. Each server that Redis' suite
# starts is attached to: it keeps its process id, by which the suite stops it. PostgreSQL's tests run against one
# server. `evenkeel profile` starts that server where every site is timed, and `evenkeel attach` attaches to it where
# waits are followed. --part runs a few of the tests only. The suites are in the distribution's source and test
# packages, which are fetched into $EVENKEEL_SUITES (default: a temporary directory) and not installed. KEEP=1 in the
# environment keeps the logs; EVENKEEL names another build.
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
evenkeel="${EVENKEEL:-$here/target/$build/evenkeel}"
[ -x "$evenkeel" ] || {
    echo "scripts/test-suites.sh: build first: cargo build$([ $build = debug ] || echo " --release") -p evenkeel -p evenkeel-agent" >&2
    exit 2
}
scratch=$(mktemp -d)
# Servers' accounts write what their sessions say here.
chmod 1777 "$scratch"
stop=""
clean() {
    if [ -n "$stop" ]; then $stop >/dev/null 2>&1 || true; fi
    if [ -n "${KEEP:-}" ]; then echo "logs are in $scratch" >&2; else rm -rf "$scratch"; fi
}
trap clean EXIT
trap 'exit 130' INT TERM
sources="${EVENKEEL_SUITES:-$scratch/sources}"
mkdir -p "$sources"

# How a server is profiled in each mode.
modes="plain every waits"
options_of() {
    case "$1" in
    every) echo "--plant every" ;;
    waits) echo "--waits" ;;
    esac
}

needs() {
    command -v "$1" >/dev/null 2>&1 || { echo "scripts/test-suites.sh: needs $1 (apt-get install $2)" >&2 && exit 2; }
}

fetched() {
    "$@" >"$scratch/fetched" 2>&1 || {
        tail -n 5 "$scratch/fetched" >&2
        echo "scripts/test-suites.sh: could not be fetched: $*" >&2
        exit 2
    }
}

# Unpacks the upstream archive of a source package and prints its directory.
source_of() {
    found=$(find "$sources" -maxdepth 1 -type d -name "$1[-.][0-9]*" | head -n 1)
    if [ -z "$found" ]; then
        lists="$scratch/lists"
        mkdir -p "$lists/partial"
        . /etc/os-release
        echo "deb-src http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" >"$scratch/sources.list"
        options="-o Dir::Etc::SourceList=$scratch/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$lists"
        cd "$sources"
        # shellcheck disable=SC2086 # word splitting wanted
        fetched apt-get -q $options update
        # shellcheck disable=SC2086
        fetched apt-get -q $options source --download-only "$1"
        for archive in "$1"_*.orig.tar.*; do tar -x -f "$archive"; done
        cd "$here"
        found=$(find "$sources" -maxdepth 1 -type d -name "$1[-.][0-9]*" | head -n 1)
    fi
    echo "$found"
}

# Unpacks binary packages into a directory of their own and prints that.
unpacked() {
    tree="$sources/unpacked-$1"
    if [ ! -d "$tree" ]; then
        mkdir -p "$tree.new"
        cd "$sources"
        fetched apt-get -q download "$@"
        for name in "$@"; do dpkg -x "${name}"_*.deb "$tree.new"; done
        cd "$here"
        mv "$tree.new" "$tree"
    fi
    echo "$tree"
}

# Writes a program $1 that becomes $2, and is attached to then, with the options after them, for as long as it runs. A server that only
# makes its tables or prints its options is left alone.
wrapper() {
    file=$1
    program=$2
    shift 2
    rm -f "$file"
    cat >"$file" <<END
#!/bin/sh
case " \$* " in *" --bootstrap "* | *" --help "* | *" --version "*) exec "$program" "\$@" ;; esac
# Not a child of the server: some tests look for the children that it forks.
( (
    while [ "\$(readlink /proc/\$\$/exe)" = "$(readlink -f /bin/sh)" ]; do sleep 0.02; done
    log=\$(mktemp "$scratch/attached.XXXXXX")
    "$evenkeel" attach \$\$ $* >"\$log" 2>&1 || echo "exit status \$?" >>"\$log"
) </dev/null >/dev/null 2>&1 & )
exec "$program" "\$@"
END
    chmod 755 "$file"
}

# Compares the tests that passed, one a line in $scratch/SUITE-MODE.passed, with those of the plain run, and says what the sessions saw.
compared() {
    suite=$1
    mode=$2
    passed="$scratch/$suite-$mode.passed"
    attached=$(find "$scratch" -maxdepth 1 -name 'attached.*' | wc -l)
    seen=$(cat "$scratch"/attached.* 2>/dev/null | grep -cE ' seen' || true)
    echo "$suite, $mode: $(wc -l <"$passed") tests passed; $attached servers profiled, intervals seen in $seen"
    for log in "$scratch"/attached.*; do
        grep -qsE ' seen' "$log" || tail -n 2 "$log" 2>/dev/null | head -n 1 | cut -c 1-150
    done | sort | uniq -c | sort -rn | sed 's/^/    no profile: /' | head -n 5
    rm -f "$scratch"/attached.*
    if [ "$mode" = plain ]; then
        [ -s "$passed" ] || { tail -n 20 "$scratch/$suite-$mode" && failed=yes; }
        return
    fi
    missing=$(comm -23 "$scratch/$suite-plain.passed" "$passed")
    [ -z "$missing" ] || {
        echo "passed in the plain run alone, $(printf '%s\n' "$missing" | wc -l) tests, the first being:"
        printf '%s\n' "$missing" | head -n 20
        echo "the end of the profiled run:"
        tail -n 15 "$scratch/$suite-$mode"
        failed=yes
    }
    # A run that profiles nothing proves nothing.
    [ "$seen" -gt 0 ] || { echo "no server was profiled" && failed=yes; }
}

redis() {
    needs tclsh tcl
    needs redis-server redis-server
    directory=$(source_of redis)
    server=$(command -v redis-server)
    for tool in redis-cli redis-benchmark redis-check-aof; do
        ln -sf "$(command -v $tool)" "$directory/src/$tool"
    done
    tests=""
    if [ -n "$part" ]; then
        for name in unit/type/string unit/type/list unit/type/hash unit/expire unit/multi; do tests="$tests --single $name"; done
    fi
    for mode in $modes; do
        case $mode in
        plain) ln -sf "$server" "$directory/src/redis-server" ;;
        *) wrapper "$directory/src/redis-server" "$server" --preset redis "$(options_of $mode)" ;;
        esac
        # shellcheck disable=SC2086 # word splitting wanted
        (cd "$directory" && ./runtest --clients 2 --timeout 600 $tests) >"$scratch/redis-$mode" 2>&1 || true
        sed 's/\x1b\[[0-9;]*m//g' "$scratch/redis-$mode" | grep -oE '\[ok\]: .*' | sed -E 's/ \([0-9]+ ms\)$//' | sort >"$scratch/redis-$mode.passed"
        compared redis $mode
    done
}

# PostgreSQL refuses to run as root.
as_postgres() {
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# C functions that the regression tests load. They are built with the source's headers, whose version surely is the
# server's; the development package supplies the headers that configuring the source would make.
regress_library() {
    include="/usr/include/postgresql/$major/server"
    [ -d "$include" ] || include="$(unpacked "postgresql-server-dev-$major")$include"
    mkdir -p "$sources/regress"
    cc -O2 -fPIC -shared -I "$directory/src/include" -I "$directory/src/backend" -I "$include" -o "$sources/regress/regress.so" "$directory/src/test/regress/regress.c"
    ln -sf "/usr/lib/postgresql/$major/lib/refint.so" "/usr/lib/postgresql/$major/lib/autoinc.so" "$sources/regress/"
    echo "$sources/regress"
}

# The schedule of a suite; of a part, its first groups.
schedule_of() {
    if [ -z "$part" ]; then echo "$1"; return; fi
    grep '^test:' "$1" | head -n "$2" >"$scratch/$(basename "$1").part"
    echo "$scratch/$(basename "$1").part"
}

postgres() {
    tools=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    [ -x "${tools:-/nowhere}/postgres" ] || needs postgres postgresql
    major=$(basename "$(dirname "$tools")")
    runners="$(dirname "$tools")/lib/pgxs/src/test"
    directory=$(source_of "postgresql-$major")
    library=$(regress_library)
    for mode in $modes; do
        work="$scratch/postgres-$mode.d"
        mkdir -p "$work"
        [ "$(id -u)" -ne 0 ] || chown postgres "$work"
        cd "$work"
        as_postgres "$tools/initdb" -D "$work/data" -A trust -U postgres -N --no-locale -E UTF8 >"$work/initdb" 2>&1
        server="$tools/postgres -D $work/data -k $work -F -c listen_addresses="
        stop="as_postgres $tools/pg_ctl -D $work/data -m fast stop"
        log="$scratch/attached.$mode"
        profiler=""
        # shellcheck disable=SC2086 # word splitting wanted
        case $mode in
        every)
            as_postgres "$evenkeel" profile --preset postgres $(options_of $mode) -- $server >"$log" 2>&1 &
            profiler=$!
            ;;
        *) as_postgres $server >"$work/log" 2>&1 & ;;
        esac
        ready=60
        while [ $ready -gt 0 ] && ! as_postgres "$tools/pg_isready" -q -h "$work"; do sleep 0.5 && ready=$((ready - 1)); done
        if [ $mode = waits ]; then
            # shellcheck disable=SC2046 # word splitting wanted
            "$evenkeel" attach "$(head -n 1 "$work/data/postmaster.pid")" --preset postgres $(options_of $mode) >"$log" 2>&1 &
            profiler=$!
        fi
        run="--host=$work --user=postgres --bindir=$tools --dlpath=$library --max-concurrent-tests=20"
        # shellcheck disable=SC2086 # word splitting wanted
        {
            as_postgres "$runners/regress/pg_regress" $run --inputdir="$directory/src/test/regress" --outputdir="$work/regress" \
                --schedule="$(schedule_of "$directory/src/test/regress/parallel_schedule" 5)" || true
            as_postgres "$runners/isolation/pg_isolation_regress" $run --inputdir="$directory/src/test/isolation" --outputdir="$work/isolation" \
                --schedule="$(schedule_of "$directory/src/test/isolation/isolation_schedule" 12)" || true
        } >"$scratch/postgres-$mode" 2>&1
        $stop >"$work/stop" 2>&1 || failed=yes
        stop=""
        [ -z "$profiler" ] || wait "$profiler" || echo "exit status $?" >>"$log"
        cd "$here"
        sed -nE 's/^(test)? +([a-z0-9_-]+) +\.\.\. ok .*/\2/p' "$scratch/postgres-$mode" | sort >"$scratch/postgres-$mode.passed"
        # Servers that ended in another way than by the signal that asks them to.
        ended=$(grep -hE 'terminated by signal|PANIC:' "$work/log" "$log" 2>/dev/null || true)
        [ -z "$ended" ] || { printf '%s\n' "$ended" | head -n 5 && failed=yes; }
        compared postgres $mode
    done
}

# Every Nth test of a suite of mtr, without those that need another kind of build.
every_so_many() {
    find "$1" -maxdepth 1 -name '*.test' -printf '%f\n' | sed 's/\.test$//' | grep -vE 'debug|big|_rpl|_emb|named_pipe|valgrind' | sort |
        awk -v step="$2" -v suite="$3" 'NR % step == 0 { print suite "." $0 }'
}

# mtr looks for the server in its own directory, and finds the wrapper there.
mariadb() {
    needs perl perl
    tree=$(unpacked mariadb-test mariadb-test-data mariadb-server mariadb-server-core mariadb-client mariadb-client-core mariadb-common libpcre2-posix3)
    mtr="$tree/usr/share/mysql/mysql-test"
    server="$tree/usr/sbin/mariadbd"
    # Of the same name: mtr looks for that in what it says of its version.
    own="$tree/usr/own/mariadbd"
    mkdir -p "$tree/usr/own"
    [ -e "$own" ] || mv "$server" "$own"
    # shellcheck disable=SC2046 # word splitting wanted
    if [ -n "$part" ]; then set -- 90 90; else set -- 11 9; fi
    tests="$(every_so_many "$mtr/main" "$1" main) $(every_so_many "$mtr/suite/innodb/t" "$2" innodb)"
    for mode in $modes; do
        work="$scratch/mariadb-$mode.d"
        mkdir -p "$work"
        case $mode in
        plain) ln -sf "$own" "$server" ;;
        *) wrapper "$server" "$own" --preset mariadb "$(options_of $mode)" ;;
        esac
        if [ "$(id -u)" -eq 0 ]; then
            chown mysql "$work"
            set -- runuser -u mysql -- env
        else
            set -- env
        fi
        # shellcheck disable=SC2086 # word splitting wanted
        (cd "$mtr" && "$@" LD_LIBRARY_PATH="$tree/usr/lib/x86_64-linux-gnu" perl ./mtr --vardir="$work/var" --tmpdir="$work/tmp" \
            --force --max-test-fail=0 --retry=0 $tests) >"$scratch/mariadb-$mode" 2>&1 || true
        sed -nE "s/^([a-z0-9_.-]+( '[^']*')?) +\[ pass \].*/\1/p" "$scratch/mariadb-$mode" | sort >"$scratch/mariadb-$mode.passed"
        compared mariadb $mode
    done
}

failed=""
[ $# -gt 0 ] || set -- redis postgres mariadb
for suite in "$@"; do
    case "$suite" in
    redis | postgres | mariadb) "$suite" ;;
    *)
        echo "usage: scripts/test-suites.sh [--debug] [--part] [redis] [postgres] [mariadb]" >&2
        exit 2
        ;;
    esac
done
[ -z "$failed" ]
