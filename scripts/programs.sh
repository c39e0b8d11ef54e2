#!/bin/sh
# Profiles programs that nobody tuned the profiler for, each under a load whose cause of variance is known, and prints tables in
# Markdown.
#
#   scripts/programs.sh [--debug] [--load after|before|changes|processes]... [PROGRAM]...
#
# Without names it runs all programs and all loads: the tables of docs/evidence/programs.md. The loads are:
#   after      The load begins three seconds after the profile.
#   before     The program runs under its load for three seconds, then `evenkeel attach` profiles it.
#   changes    Like after, but the cause is only in every second ten seconds of the load, not in the first.
#   processes  For servers that start a process for a request. It counts processes that end abnormally, and turns
#              of the load that fail: without the profiler, with `profile`, and with `attach`.
# A program that ends by itself runs once more without the profiler: output and exit status have to be equal. An
# attached server must run on afterwards, and answer every request. Installs missing packages. Exit status 1 where
# a cause was not found, or a program's behaviour changed. KEEP=1 in the environment keeps the reports.
#
# A file of scripts/programs/ describes one program:
#   title options cause among   Its name, the profiled interval, the cause of variance, and a pattern of grep -E for
#                               its functions. Without a cause, the run only checks that the program is unharmed.
#   starts_processes            It starts processes for its requests.
#   seconds, needs_root         Length of the profile, if not half a minute; only root can start it.
#   prepare                     Installs it, and writes its files to $place.
# A server that runs until it is stopped also has:
#   serve WORDS..               Starts it in the foreground, as the command that WORDS end with.
#   turn slow|plain             A part of the load, with the cause or without.
#   fill                        Runs before the load.
# A program that ends by itself has:
#   run SECONDS PERIOD WORDS..  Like serve. With a PERIOD above 0 the cause is in every second PERIOD only.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
programs="sqlite rocksdb python gunicorn php slapd postfix postfix-chroot samba freeradius proftpd dovecot sshd haproxy tls varnish tinyproxy bind pdns node java mysql mariadb-10.2.11 mariadb-11.4.5"
usage() {
    echo "usage: scripts/programs.sh [--debug] [--load after|before|changes|processes]... [PROGRAM]...    programs: $programs" >&2
    exit 2
}
build=release
loads=""
while [ $# -gt 0 ]; do
    case "$1" in
    --debug) build=debug ;;
    --load)
        case "${2:-}" in after | before | changes | processes) loads="$loads $2" ;; *) usage ;; esac
        shift
        ;;
    -*) usage ;;
    *) break ;;
    esac
    shift
done
for program in "$@"; do
    case " $programs " in *" $program "*) ;; *) usage ;; esac
done

evenkeel="${EVENKEEL:-$here/target/$build/evenkeel}"
built() {
    [ -x "$1" ] || {
        echo "scripts/programs.sh: build first: cargo build$([ $build = debug ] || echo " --release") $2" >&2
        exit 2
    }
}
built "$evenkeel" "-p evenkeel -p evenkeel-agent"

scratch=$(mktemp -d)
chmod 755 "$scratch"
children=""
clean() {
    for child in $children; do
        kill "$child" 2>/dev/null || true
    done
    if [ -n "${KEEP:-}" ]; then echo "logs are in $scratch" >&2; else rm -rf "$scratch"; fi
}
trap clean EXIT
trap 'exit 130' INT TERM

# package COMMAND PACKAGE..
package() {
    command -v "$1" >/dev/null 2>&1 && return
    shift
    echo "installing $*" >&2
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    # Debian's services are not to be started.
    $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends "$@" >&2
}

version_of() {
    dpkg-query -W -f '${Version}' "$1" 2>/dev/null | sed -E 's/^[0-9]+://; s/[-+].*//'
}

# Factors of a report, the first three in one line.
factors() {
    sed -n '/^FACTORS/,/^VARIANCE/p' "$1" | grep -E '^ +[1-3]≈? +-?[0-9.]+ % ±' |
        sed -E 's/^ +[0-9]+≈? +//; s/ {2,}[^ ]+ [µmn]?s +[a-zA-Z\/]+ +/ /; s/  +/ /g' | paste -sd ';' | sed 's/;/; /g'
}

# The row of the table, and whether it is as it has to be; remarks (`output differs`) from $remark.
row() {
    answer=$(factors "$log")
    when=$(tr '\r' '\n' <"$log" | grep -oE 'after [0-9.]+ s, [0-9,]+ intervals: .*' | grep -E -m1 -- "$among" | grep -oE '[0-9.]+ s' | head -n 1)
    intervals=$(grep -m1 -oE '[0-9,]+ (of [0-9,]+ )?seen' "$log" || tail -n 1 "$log")
    if printf '%s' "$answer" | grep -qE -- "$among"; then verdict=yes; else verdict="**no**"; fi
    [ "$verdict" = yes ] && [ -z "$remark" ] || failed=1
    printf '| %s | `%s` | %s | %s | %s | %s | %s%s |\n' \
        "$title" "${options#--interval }" "$cause" "$answer" "$verdict" "${when:-at the end}" "$intervals" "$remark"
}

# The words that run a command with its output in a file.
into() { printf '%s\n' 'out=$1; shift; exec "$@" >"$out" 2>&1'; }

# A program that ends by itself: the same output and exit status, profiled and not.
profile_program() {
    period=0
    [ "$load" != changes ] || period=10
    plain=0
    run 4 $period env >"$log.plain" 2>&1 || plain=$?
    profiled=0
    if [ "$load" = before ]; then
        run $((seconds + 8)) 0 exec >"$log.output" 2>&1 &
        program_pid=$!
        children="$program_pid"
        sleep 3
        # shellcheck disable=SC2086 # words
        "$evenkeel" attach $options --for "${seconds}s" "$program_pid" >"$log" 2>&1 || remark="$remark; exit status $?"
        wait "$program_pid" || profiled=$?
        children=""
    else
        # shellcheck disable=SC2086 # words
        run "$seconds" $period "$evenkeel" profile $options -- sh -c "$(into)" sh "$log.output" >"$log" 2>&1 || profiled=$?
        # The profiler says itself how a command ended that failed; its own errors end with 2.
        plain=$((plain != 0))
    fi
    [ "$plain" -eq "$profiled" ] || remark="$remark; exit status $profiled instead of $plain"
    cmp -s "$log.plain" "$log.output" || remark="$remark; output differs"
}

# Puts a server under load until it is stopped, or it is enough. Requests that fail once one was answered are counted.
put_under_load() {
    until turn plain; do
        [ ! -e "$place/enough" ] || exit 1
        sleep 0.2
    done
    fill || {
        touch "$place/unfilled"
        exit 1
    }
    began=$(date +%s)
    until [ -e "$place/enough" ]; do
        kind=slow
        [ "$load" != changes ] || [ $((($(date +%s) - began) / 10 % 2)) -eq 1 ] || kind=plain
        turn $kind || echo failed >>"$place/failed"
        echo turn >>"$place/turns"
    done
}

profile_server() {
    rm -f "$place/pid"
    if [ "$load" = before ]; then
        # shellcheck disable=SC2016 # for the inner shell
        serve sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$place/pid" >"$log.output" 2>&1 &
    else
        # shellcheck disable=SC2086 # words
        serve "$evenkeel" profile $options --for "${seconds}s" -- >"$log" 2>&1 &
    fi
    server=$!
    children="$server"
    [ "$load" = before ] || sleep 3
    put_under_load >"$log.load" 2>&1 &
    client=$!
    children="$children $client"
    if [ "$load" = before ]; then
        sleep "$before"
        # shellcheck disable=SC2086 # words
        "$evenkeel" attach $options --for "${seconds}s" "$(cat "$place/pid")" >"$log" 2>&1 || remark="$remark; exit status $?"
        sleep 1
        [ ! -e "$place/failed" ] || remark="$remark; $(wc -l <"$place/failed") turns failed"
        kill -0 "$server" 2>/dev/null || remark="$remark; the server ended"
        kill "$client" 2>/dev/null || true
        kill "$(cat "$place/pid")" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    else
        wait "$server" || remark="$remark; exit status $?"
        kill "$client" 2>/dev/null || true
    fi
    wait "$client" 2>/dev/null || true
    children=""
    [ ! -e "$place/unfilled" ] || remark="$remark; the load could not begin ($(tail -n 1 "$log.load"))"
}

# A server under load for some time, profiled in this way or not: how its processes end is in $place/$1.exits, turns in $place/$1.turns.
count_ends() {
    log="$place/$1.log"
    rm -f "$place/pid" "$place/enough" "$place/turns" "$place/failed"
    ends="python3 $here/scripts/programs/exits.py $place/$1.exits"
    # shellcheck disable=SC2016 # for the inner shell
    into_pid='echo $$ >"$1"; shift; exec "$@"'
    case $1 in
    profile) ends="$ends $evenkeel profile $options --" ;;
    *) ;;
    esac
    # shellcheck disable=SC2086 # words
    serve $ends sh -c "$into_pid" sh "$place/pid" >"$log" 2>&1 &
    server=$!
    put_under_load >"$log.load" 2>&1 &
    client=$!
    children="$server $client"
    if [ "$1" = attach ]; then
        sleep "$before"
        # shellcheck disable=SC2086 # words
        "$evenkeel" attach $options --for "${seconds}s" "$(cat "$place/pid")" >"$log" 2>&1 || remark="$remark; attach: exit status $?"
    else
        sleep "$seconds"
    fi
    sleep 1
    touch "$place/enough"
    wait "$client" || true
    kill "$(cat "$place/pid")" || remark="$remark; $1: the server ended"
    wait "$server" || true
    children=""
    touch "$place/failed" "$place/turns"
    mv "$place/failed" "$place/$1.failed"
    mv "$place/turns" "$place/$1.turns"
}

# How often, and how it ended, in one cell.
ended() { awk '{ printf "%s%s: %d", (NR > 1 ? ", " : ""), $2 " " $3, $1 }' "$place/$1.exits"; }
turns() { echo "$(wc -l <"$place/$1.failed") of $(wc -l <"$place/$1.turns")"; }

compare_ends() {
    for how in plain profile attach; do
        count_ends "$how"
    done
    for how in profile attach; do
        more=$(python3 "$here/scripts/programs/exits.py" --compare "$place/plain.exits" "$place/$how.exits") || remark="$remark; $how: $more"
        [ "$(wc -l <"$place/$how.failed")" -le "$(wc -l <"$place/plain.failed")" ] || remark="$remark; $how: more turns failed"
        [ "$(wc -l <"$place/$how.turns")" -gt 0 ] || remark="$remark; $how: no turns"
        seen=$(grep -m1 -oE '[0-9,]+ (of [0-9,]+ )?seen' "$place/$how.log") || remark="$remark; $how: $(tail -n 1 "$place/$how.log")"
        intervals="${intervals:+$intervals; }$how $seen"
    done
    verdict=yes
    [ -z "$remark" ] || verdict="**no**"
    [ -z "$remark" ] || failed=1
    printf '| %s | `%s` | %s | %s | %s | %s | %s | %s | %s | %s%s |\n' "$title" "${options#--interval }" "$(ended plain)" "$(ended profile)" \
        "$(ended attach)" "$(turns plain)" "$(turns profile)" "$(turns attach)" "$intervals" "$verdict" "$remark"
}

failed=0
# shellcheck disable=SC2086 # word splitting wanted
[ $# -gt 0 ] || set -- $programs
for load in ${loads:-after before changes processes}; do
    case $load in
    after) title="The load begins three seconds after the profile" ;;
    before) title="The load was there before the profile" ;;
    changes) title="The load changes every ten seconds" ;;
    processes) title="How processes end that servers start for their requests" ;;
    esac
    printf '\n## %s\n\n' "$title"
    if [ "$load" = processes ]; then
        printf '| program | interval | plain | profiled | attached to | turns failed, plain | profiled | attached to | intervals | unharmed |\n'
        printf '|---|---|---|---|---|---|---|---|---|---|\n'
    else
        printf '| program | interval | known cause | first factors (share of variance) | among them | first after | intervals |\n'
        printf '|---|---|---|---|---|---|---|\n'
    fi
    for program in "$@"; do
        place="$scratch/$program-$load"
        log="$place.log"
        mkdir "$place"
        chmod 755 "$place"
        port=$(shuf -i 20000-29999 -n 1)
        seconds=30
        before=4
        remark=""
        version="${program#*-}"
        fill() { :; }
        needs_root=""
        starts_processes=""
        cause=""
        intervals=""
        unset -f serve run 2>/dev/null || true
        # shellcheck source=/dev/null # one of scripts/programs/
        . "$here/scripts/programs/${program%%-*}.sh"
        if [ "$load" = processes ]; then
            [ -n "$starts_processes" ] || continue
            needs_root=yes
        else
            [ -n "$cause" ] || continue
        fi
        if [ -n "$needs_root" ] && [ "$(id -u)" -ne 0 ]; then
            echo "scripts/programs.sh: $program was not run: only root can" >&2
            failed=1
            continue
        fi
        prepare
        if [ "$load" = processes ]; then
            compare_ends
            continue
        fi
        if command -v serve >/dev/null; then profile_server; else profile_program; fi
        row
    done
done
exit "$failed"
