# Shared by the scripts of this directory, which source it: arguments, a directory for the server, load, and the report.
#
# EVENKEEL is the program (target/debug/evenkeel). CASE=FILE writes the case for profiler/report/tests/patterns, with
# PATTERN as the one that fires and ALSO as others that are right, separated by commas. REPORT=FILE writes the report as JSON. As root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
problem=${1:?which problem}
seconds=${2:-20}
shift $(($# < 2 ? $# : 2))
[ "${1:-}" = -- ] && shift
EVENKEEL=${EVENKEEL:-$here/../../target/debug/evenkeel}
work=$(mktemp -d /tmp/evenkeel-pattern.XXXXXX)
chmod 755 "$work"
jobs_of_load=()

# A process group each, so that the children of a load end with it.
load() {
    set -m
    "$@" >>"$work/load.log" 2>&1 &
    set +m
    jobs_of_load+=($!)
}

repeat() { # COMMAND.. until the end
    while [ ! -e "$work/end" ]; do "$@" || true; done
}

# The servers that start after this one have a slow disk.
preload=
slow_disk() {
    cc -O1 -shared -fPIC -o "$work/slow-disk.so" "$here/slow-disk.c" -ldl
    preload=$work/slow-disk.so
}

# Scripts may replace it.
stop_servers() {
    if [ -n "${server:-}" ]; then kill "$server" 2>/dev/null || true; fi
}

stop() {
    touch "$work/end"
    for job in "${jobs_of_load[@]}"; do kill -- "-$job" 2>/dev/null || true; done
    stop_servers
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

await() { # COMMAND.. succeeds
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "$problem: the server does not answer" >&2
    exit 1
}

# Asks the web server at $port for a path again and again.
ask() { python3 "$here/ask.py" "$port" "$@"; } # PATH PAUSE [HEADER VALUE]

# A pipe, messages, whose reader stops now and then.
slow_messages() { # FOR SECONDS, AFTER SECONDS
    messages=$work/messages
    mkfifo "$messages"
    load python3 -c 'import fcntl, os, sys, time
messages = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(messages, 1031, 4096)  # F_SETPIPE_SZ
end = time.monotonic()
while os.read(messages, 4096):
    if time.monotonic() > end:
        time.sleep(float(sys.argv[2]))
        end = time.monotonic() + float(sys.argv[3])' "$messages" "$@"
}

unknown() {
    echo "$0: $problem is not known" >&2
    exit 2
}

# Profiles a process under the load that runs, and writes the case.
profile() { # PID PRESET OPTIONS..
    local pid=$1 preset=$2
    shift 2
    sleep 2
    "$EVENKEEL" attach "$pid" --preset "$preset" --for "${seconds}s" -o "$work/run.keel" "$@"
    [ -z "${KEEP_RECORDING:-}" ] || cp "$work/run.keel" "$KEEP_RECORDING"
    [ -n "${CASE:-}${REPORT:-}" ] || return 0
    "$EVENKEEL" report "$work/run.keel" --json >"$work/report.json"
    [ -z "${REPORT:-}" ] || cp "$work/report.json" "$REPORT"
    [ -n "${CASE:-}" ] || return 0
    local about="scripts/patterns/$(basename "$0") $problem $seconds${*:+ $*}"
    python3 "$here/../pattern-case.py" "$about" "${PATTERN:-}" "${ALSO:-}" <"$work/report.json" >"$work/case.json"
    mv "$work/case.json" "$CASE"
}
