#!/bin/bash
# Attaches to a private server under load and detaches again, many times, and checks that the server is unharmed. No
# request may fail, and no process that lives all the time may grow in memory, descriptors, threads or mappings. A
# request must cost the same afterwards.
#
#   scripts/attach-cycles.sh SERVER [CYCLES]     SERVER: postgresql mariadb nginx redis memcached apache; 30 cycles
#
# CONTAINER=1 runs Redis or PostgreSQL in a container of podman's, and sessions attach from outside. The
# container has the default filter of system calls, no capabilities and no network, and read-only directories
# of this system.
# SECONDS_EACH=0.5 is the length of a session. WAITS=1 follows waits.
# KILLS=1 kills a session (SIGKILL) at a random moment of its first second before each cycle. The server then
# runs alone until the lease of the dead session has run out.
# EVENKEEL names another build than target/release/evenkeel.
# Prints one line a server, and progress after each hundredth cycle; exits with 1 if anything failed. Needs the
# server's package, and wrk for the web servers.
#
# Failures are:
# - a failed request, or the server's end;
# - a session that ends otherwise than with a report or for lack of a whole interval;
# - growth, in a process that lives from the tenth cycle to the last: of a descriptor, thread or mapping in each
#   twentieth cycle. Memory may grow by less than a page a cycle, and by some pages that belong to the server or
#   that sessions make private by expanding functions;
# - processor time a request that is half as much again as before, four times in a row.
# Requests a second are printed, not judged: they depend on other work on the machine.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
evenkeel="${EVENKEEL:-$here/target/release/evenkeel}"
server="${1:?scripts/attach-cycles.sh SERVER [CYCLES]}"
cycles="${2:-30}"
each="${SECONDS_EACH:-0.5}"
waits=""
[ -z "${WAITS:-}" ] || waits="--waits"
[ -x "$evenkeel" ] || {
    echo "scripts/attach-cycles.sh: build first: cargo build --release -p evenkeel -p evenkeel-agent" >&2
    exit 2
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/attach-cycles.XXXXXX")
chmod 777 "$scratch"
export TMPDIR="$scratch"
trap 'echo "scripts/attach-cycles.sh: line $LINENO failed" >&2; tail -n 5 "$scratch"/*.log >&2' ERR
port=$((20000 + $$ % 20000))
pid=""
load=""
container=""
clean() {
    [ -z "$load" ] || kill -- "-$load" 2>/dev/null || true
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    for _ in $(seq 50); do
        [ -n "$pid" ] && [ -d "/proc/$pid" ] || break
        sleep 0.1
    done
    # podman clears its directories away.
    [ -z "$container" ] || wait "$container" || true
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 130' INT TERM

# Databases refuse root: as their own account.
as() {
    account=$1
    shift
    if [ "$(id -u)" -eq 0 ]; then set -- setpriv --reuid "$account" --regid "$account" --clear-groups "$@"; fi
    # In the background the process is to be the command, which `kill` has to reach.
    [ "$BASHPID" = "$$" ] || exec "$@"
    "$@"
}

# Starts a server as an account, in a container where that is asked for: then `pid` is its main process.
serve() {
    if [ -z "${CONTAINER:-}" ]; then
        as "$@" >"$scratch/server.log" 2>&1 &
        pid=$!
        return
    fi
    account=$1
    shift
    mkdir -p "$scratch/rootfs"
    options=""
    for directory in usr lib lib64 bin sbin etc; do
        mkdir -p "$scratch/rootfs/$directory"
        [ ! -e "/$directory" ] || options="$options --volume=/$directory:/$directory:ro"
    done
    mkdir -p "$scratch/rootfs/proc" "$scratch/rootfs/sys" "$scratch/rootfs/dev" "$scratch/rootfs/tmp" "$scratch/rootfs$scratch"
    # shellcheck disable=SC2086
    with_podman run --rm --name server $options --volume="$scratch:$scratch" --network=none --read-only --cap-drop=all \
        --memory=1g --ulimit=nofile=1024:1024 --ulimit=nproc=1000:1000 --user="$(id -u "$account"):$(id -g "$account")" \
        --rootfs "$scratch/rootfs" "$@" >"$scratch/server.log" 2>&1 &
    container=$!
    for _ in $(seq 100); do
        pid=$(with_podman inspect --format '{{.State.Pid}}' server 2>/dev/null || true)
        [ "${pid:-0}" -eq 0 ] || break
        sleep 0.1
    done
}

# With separate directories. The second hierarchy of control groups is hidden, because crun refuses both at once.
with_podman() {
    unshare --mount sh -c 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"' podman --root "$scratch/podman" \
        --runroot "$scratch/podman-run" --cgroup-manager=cgroupfs --events-backend=file "$@"
}

# Each function sets `pid` and `options`. It defines `served`, the requests answered so far, and `work`, the load,
# which fails if a request does.
start_redis() {
    serve "$(id -un)" redis-server --port 0 --unixsocket "$scratch/socket" --unixsocketperm 777 --save "" --dir "$scratch"
    options="--preset redis"
    served() { redis-cli -s "$scratch/socket" info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'; }
    # It loops for ever; an error of any request ends it.
    work() { redis-benchmark -s "$scratch/socket" -c 20 -t set,get -l -q; }
}

start_memcached() {
    memcached -p "$port" -U 0 -t 4 -u nobody >"$scratch/server.log" 2>&1 &
    pid=$!
    options="--preset memcached"
    served() {
        exec 3<>"/dev/tcp/127.0.0.1/$port" || return
        printf 'stats\r\nquit\r\n' >&3
        sed -n 's/^STAT cmd_get \([0-9]*\).*/\1/p' <&3
        exec 3>&-
    }
    work() {
        python3 - "$port" <<'PYTHON'
import socket, sys, threading
def client(number):
    stream = socket.create_connection(("127.0.0.1", int(sys.argv[1]))).makefile("rwb")
    value = b"v" * 100
    while True:
        stream.write(b"set k%d 0 0 100\r\n%s\r\nget k%d\r\n" % (number, value, number))
        stream.flush()
        answer = [stream.readline() for _ in range(4)]
        if answer != [b"STORED\r\n", b"VALUE k%d 0 100\r\n" % number, value + b"\r\n", b"END\r\n"]:
            print("failed:", answer, file=sys.stderr, flush=True)
            import os
            os._exit(1)
for number in range(8):
    threading.Thread(target=client, args=(number,)).start()
PYTHON
    }
}

web_load() { exec wrk -t 2 -c 16 -d 100000 --timeout 10 "http://127.0.0.1:$port/page.html"; }

start_nginx() {
    mkdir -p "$scratch/www"
    head -c 4000 /dev/zero | tr '\0' 'x' >"$scratch/www/page.html"
    chmod -R a+rX "$scratch"
    cat >"$scratch/nginx.conf" <<CONF
worker_processes 2; daemon off; pid $scratch/nginx.pid; error_log $scratch/error.log;
events { worker_connections 256; }
http { access_log off; client_body_temp_path $scratch/b; proxy_temp_path $scratch/p; fastcgi_temp_path $scratch/f;
  uwsgi_temp_path $scratch/u; scgi_temp_path $scratch/s;
  server { listen 127.0.0.1:$port; root $scratch/www; location = /status { stub_status; } } }
CONF
    nginx -c "$scratch/nginx.conf" >"$scratch/server.log" 2>&1 &
    pid=$!
    options="--preset nginx"
    served() { curl -s "http://127.0.0.1:$port/status" | sed -n '3s/^ *[0-9]* *[0-9]* *\([0-9]*\).*/\1/p'; }
    work() { web_load; }
}

start_apache() {
    mkdir -p "$scratch/www"
    head -c 4000 /dev/zero | tr '\0' 'x' >"$scratch/www/page.html"
    chmod -R a+rX "$scratch"
    modules=/usr/lib/apache2/modules
    cat >"$scratch/apache.conf" <<CONF
ServerRoot $scratch
ServerName localhost
PidFile $scratch/apache.pid
ErrorLog $scratch/error.log
Listen 127.0.0.1:$port
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule status_module $modules/mod_status.so
User www-data
Group www-data
DocumentRoot $scratch/www
ExtendedStatus On
MaxConnectionsPerChild 0
<Location /status>
SetHandler server-status
</Location>
CONF
    apache2 -X -v >/dev/null
    apache2 -DFOREGROUND -f "$scratch/apache.conf" >"$scratch/server.log" 2>&1 &
    pid=$!
    options="--preset apache"
    served() { curl -s "http://127.0.0.1:$port/status?auto" | sed -n 's/^Total Accesses: \([0-9]*\).*/\1/p'; }
    work() { web_load; }
}

start_mariadb() {
    mkdir -p "$scratch/data"
    chmod 777 "$scratch/data"
    mariadb-install-db --no-defaults --datadir="$scratch/data" --auth-root-authentication-method=normal --skip-test-db \
        --user="$([ "$(id -u)" -ne 0 ] && id -un || echo mysql)" >"$scratch/install.log" 2>&1
    mariadbd --no-defaults --datadir="$scratch/data" --socket="$scratch/socket" --port="$port" --bind-address=127.0.0.1 \
        --user="$([ "$(id -u)" -ne 0 ] && id -un || echo mysql)" --innodb-buffer-pool-size=64M >"$scratch/server.log" 2>&1 &
    pid=$!
    options="--preset mariadb"
    served() { mariadb --no-defaults -uroot -S "$scratch/socket" -Nse "show global status like 'Questions'" | cut -f 2; }
    work() {
        mariadb --no-defaults -uroot -S "$scratch/socket" -e "create database slap; create table slap.t
            (id int primary key, v double) engine=innodb; insert into slap.t select seq, 0 from seq_1_to_1000"
        # The table keeps its size, so that its speed can be compared.
        mysqlslap --no-defaults -uroot -S "$scratch/socket" --concurrency=8 --number-of-queries=1000000000 --create-schema=slap \
            --no-drop --delimiter=";" --query="update t set v = rand() where id = 1 + floor(rand() * 1000) limit 1; select sum(v) from t where id < 50"
    }
}

start_postgresql() {
    bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
    mkdir -p "$scratch/data"
    [ "$(id -u)" -ne 0 ] || chown postgres "$scratch/data"
    as postgres "$bin/initdb" -D "$scratch/data" -A trust -U postgres >"$scratch/install.log" 2>&1
    # Without checkpoints on a run of more than five minutes: the checkpointer opens a descriptor for each file of a table then.
    serve postgres "$bin/postgres" -D "$scratch/data" -p "$port" -k "$scratch" -c listen_addresses= -c checkpoint_timeout=1d \
        -c max_wal_size=4GB
    for _ in $(seq 100); do
        "$bin/pg_isready" -q -h "$scratch" -p "$port" && break
        sleep 0.1
    done
    [ -n "${CONTAINER:-}" ] || pid=$(head -n 1 "$scratch/data/postmaster.pid")
    options="--preset postgres"
    "$bin/pgbench" -h "$scratch" -p "$port" -U postgres -i -s 5 -q postgres >"$scratch/install.log" 2>&1
    served() { "$bin/psql" -h "$scratch" -p "$port" -U postgres -Atc "select sum(xact_commit) from pg_stat_database" postgres; }
    # Connections that stay, and a new one for every transaction.
    work() {
        "$bin/pgbench" -h "$scratch" -p "$port" -U postgres -C -c 1 -T 100000 postgres &
        "$bin/pgbench" -h "$scratch" -p "$port" -U postgres -c 6 -T 100000 postgres
    }
}

"start_$server"
for _ in $(seq 300); do
    [ -n "$(served 2>/dev/null || true)" ] && break
    [ -d "/proc/$pid" ] || {
        cat "$scratch/server.log" >&2
        exit 1
    }
    sleep 0.1
done

# In a separate process group, so that all of it can be ended.
set -m
(work >"$scratch/load.log" 2>&1 || echo "the load ended: $?" >>"$scratch/failed") &
load=$!
set +m
sleep 3

family() {
    echo "$1"
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do family "$child"; done
}
# Of each process of the server, one a line: which it is, kB of memory, descriptors, threads, mappings.
uses() {
    for one in $(family "$pid"); do
        begun=$(sed 's/.*) //' "/proc/$one/stat" 2>/dev/null | cut -d ' ' -f 20)
        kb=$(awk '/^RssAnon/ { print $2 }' "/proc/$one/status" 2>/dev/null || true)
        files=$(ls "/proc/$one/fd" 2>/dev/null | wc -l)
        threads=$(ls "/proc/$one/task" 2>/dev/null | wc -l)
        maps=$(wc -l 2>/dev/null <"/proc/$one/maps" || echo 0)
        [ -z "$begun" ] || [ -z "$kb" ] || echo "$one:$begun $kb $files $threads $maps"
    done | sort
}
# Ticks of processor time of the server, with the children that it has waited for.
ticks() {
    for one in $(family "$pid"); do sed 's/.*) //' "/proc/$one/stat" 2>/dev/null || true; done |
        awk '{ sum += $12 + $13 + $14 + $15 } END { print sum + 0 }'
}
# Requests a second, and microseconds of processor for each.
rate() {
    from=$(served) used=$(ticks)
    sleep 5
    answered=$(($(served) - from)) used=$(($(ticks) - used))
    echo "$((answered / 5)) $((answered > 0 ? used * 10000 / answered : 0))"
}

# Longer than the agent takes a session for alive that does not move.
lease=11
kill_a_session() {
    # shellcheck disable=SC2086
    "$evenkeel" attach "$pid" $options $waits >"$scratch/killed.log" 2>&1 &
    session=$!
    sleep "$(awk -v random=$RANDOM 'BEGIN { printf "%.3f", random / 32768 }')"
    kill -KILL "$session"
    wait "$session" 2>/dev/null || true
    sleep "$lease"
}

read -r before cost_before <<<"$(rate)"
refused=0
without=0
began=$(date +%s)
at_first=""
# Until then a process takes what it keeps for all sessions.
first=$((cycles < 20 ? 1 : 10))
for cycle in $(seq "$cycles"); do
    made=$cycle
    [ -z "${KILLS:-}" ] || kill_a_session
    # shellcheck disable=SC2086
    if "$evenkeel" attach "$pid" $options $waits --for "${each}s" >"$scratch/cycle.log" 2>&1; then
        :
    elif grep -q "never ended while it was profiled" "$scratch/cycle.log"; then
        without=$((without + 1)) # so short a session may meet no whole interval
    else
        refused=$((refused + 1))
        echo "cycle $cycle:" >&2
        tail -n 4 "$scratch/cycle.log" >&2
    fi
    if grep -qE 'no near memory|no memory near|could not be (hooked|patched)' "$scratch/cycle.log"; then
        echo "cycle $cycle: $(grep -m1 -E 'no near memory|no memory near|could not be' "$scratch/cycle.log")" >&2
    fi
    [ -d "/proc/$pid" ] || echo "the server has ended in cycle $cycle" >>"$scratch/failed"
    [ "$refused" -lt 3 ] || [ "$refused" -lt "$cycle" ] || echo "no session could attach" >>"$scratch/failed"
    [ ! -s "$scratch/failed" ] || break
    [ "$cycle" -ne "$first" ] || at_first=$(uses)
    [ $((cycle % 100)) -ne 0 ] || echo "$server: $cycle cycles in $(($(date +%s) - began)) s, refused $refused" >&2
done
took=$(($(date +%s) - began))
at_end=$(uses)
# What a session left behind would cost every request; what else the machine does, some. So the cheapest of a few seconds counts.
is_dearer() { [ $((cost_after * 2)) -gt $((cost_before * 3 + 2)) ]; }
read -r after cost_after <<<"$(rate)"
for _ in 1 2 3; do
    ! is_dearer || read -r after cost_after <<<"$(rate)"
done
if [ "$server" = nginx ] || [ "$server" = apache ]; then
    # wrk says at its end what failed.
    kill -INT -- "-$load" 2>/dev/null || true
    sleep 2
    ! grep -q 'the server has ended' "$scratch/failed" 2>/dev/null || served_all=no
    rm -f "$scratch/failed"
    [ -z "${served_all:-}" ] || echo "the server has ended" >>"$scratch/failed"
    grep -E 'Socket errors|Non-2xx' "$scratch/load.log" >>"$scratch/failed" || true
    grep -q 'requests in' "$scratch/load.log" || echo "the load did not say how it ended" >>"$scratch/failed"
fi
# Of processes that were there from the first look to the last.
grown=$(join <(echo "$at_first") <(echo "$at_end") | awk -v cycles="$cycles" '
    function note(what, growth, most) { if (growth > most) bad = bad what " of process " $1 " grew by " growth "; " }
    {
        lasting++
        kb += $6 - $2; files += $7 - $3; threads += $8 - $4; maps += $9 - $5
        note("memory (kB)", $6 - $2, 4 * cycles + 4096)
        note("descriptors", $7 - $3, cycles / 20 + 8)
        note("threads", $8 - $4, cycles / 20 + 4)
        note("mappings", $9 - $5, cycles / 20 + 64)
    }
    END {
        printf "%d lasting processes grew by %d kB, %d descriptors, %d threads, %d mappings\n", lasting, kb, files, threads, maps
        if (!lasting) bad = "no process was there from the first look to the last"
        if (bad) print bad
    }')
echo "$server: $made of $cycles cycles in $took s, refused $refused, without an interval $without; requests a second before $before, after $after;" \
    "microseconds of processor a request before $cost_before, after $cost_after; $(head -n 1 <<<"$grown")"
tail -n +2 <<<"$grown" >>"$scratch/failed"
! is_dearer || echo "a request costs more than before" >>"$scratch/failed"
if [ -s "$scratch/failed" ]; then
    cat "$scratch/failed" "$scratch/load.log" "$scratch/server.log" | tail -n 30 >&2
    exit 1
fi
[ "$refused" -eq 0 ]
