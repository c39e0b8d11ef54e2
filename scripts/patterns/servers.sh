#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private Redis, nginx or MariaDB, and prints what the report finds.
#
#   scripts/patterns/servers.sh redis-keys|redis-fork|redis-large|nginx-upstream|mariadb-metadata-lock [SECONDS] [-- OPTIONS OF ATTACH]
#
# EVENKEEL is the program (target/debug/evenkeel). CASE=FILE writes the case for profiler/report/tests/patterns, with PATTERN as the one that
# fires. As root.
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
load() { "$@" >>"$work/load.log" 2>&1 & jobs_of_load+=($!); }

stop() {
    touch "$work/end"
    for job in "${jobs_of_load[@]}"; do kill "$job" 2>/dev/null || true; done
    [ -n "${server:-}" ] && kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT

repeat() { # COMMAND.. until the end
    while [ ! -e "$work/end" ]; do "$@"; done
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

await() { # COMMAND.. succeeds
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "$problem: the server does not answer" >&2
    exit 1
}

start_redis() { # NUMBER OF KEYS
    port=$(free_port)
    redis-server --bind 127.0.0.1 --port "$port" --dir "$work" --save '' --appendonly no >"$work/server.log" &
    server=$!
    await redis-cli -p "$port" ping
    redis-cli -p "$port" eval "for i = 1, $1 do redis.call('set', 'key:' .. i, string.rep('x', 40)) end" 0 >/dev/null
}

# Requests a hundredth of a second apart, from each of some clients.
redis_clients() { for _ in $(seq "$1"); do load repeat paced_redis; done; }
paced_redis() {
    python3 -c 'import random, socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    s.sendall(b"%s key:%d %s\r\n" % ((b"GET", random.randint(1, 1000), b"") if random.random() < 0.5 else (b"SET", random.randint(1, 100000), b"y" * 40)))
    s.recv(4096)
    time.sleep(0.002)' "$port"
}

start_nginx() { # LINES OF THE SERVER
    port=$(free_port)
    mkdir -p "$work/html" "$work/tmp"
    echo small >"$work/html/small.txt"
    {
        echo "daemon off; worker_processes 1; pid $work/pid; error_log $work/error.log; events { }"
        echo "http { access_log off;"
        for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/tmp/$kind;"; done
        echo "server { listen 127.0.0.1:$port; root $work/html; $1 } }"
    } >"$work/nginx.conf"
    chmod -R a+rwX "$work"
    nginx -c "$work/nginx.conf" >"$work/server.log" 2>&1 &
    server=$!
    await curl -fs "http://127.0.0.1:$port/small.txt"
}

start_mariadb() {
    chown mysql "$work"
    mariadb-install-db --no-defaults --user=mysql --datadir="$work/data" --auth-root-authentication-method=normal >/dev/null 2>&1
    mariadbd --no-defaults --user=mysql --datadir="$work/data" --socket="$work/socket" --skip-networking \
        --pid-file="$work/pid" >"$work/server.log" 2>&1 &
    server=$!
    await mariadb-admin --no-defaults -u root -S "$work/socket" ping
    sql -e 'create database d; create table d.t (id int primary key, n int)'
    sql d -e 'insert into t select seq, 0 from seq_1_to_20000'
}
sql() { mariadb --no-defaults -u root -S "$work/socket" "$@"; }
paced_sql() { # STATEMENT with % for a number
    python3 -c 'import random, sys, time
while True:
    print(sys.argv[1].replace("%", str(random.randint(1, 20000))), flush=True)
    time.sleep(0.01)' "$1" | sql -N d
}

case $problem in
redis-keys)
    start_redis 400000
    scan() { redis-cli -p "$port" keys 'nothing*'; sleep 0.5; }
    load repeat scan
    redis_clients 6
    ;;
redis-large)
    start_redis 1000
    redis-cli -p "$port" eval "for s = 1, 60 do for i = 1, 60000 do redis.call('sadd', 'large:' .. s, i) end end" 0 >/dev/null
    drop() { for set in $(seq 60); do redis-cli -p "$port" del "large:$set"; sleep 0.3; done; }
    load drop
    redis_clients 6
    ;;
redis-fork)
    start_redis 2000000
    save() { redis-cli -p "$port" bgsave; sleep 1; }
    load repeat save
    redis_clients 6
    ;;
nginx-upstream)
    upstream=$(free_port)
    load python3 -c 'import http.server, random, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(random.choice([0.002] * 9 + [0.2]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()' "$upstream"
    start_nginx "location /slow { proxy_pass http://127.0.0.1:$upstream; }"
    ask() { curl -s "http://127.0.0.1:$port/slow/[1-200]" >/dev/null; }
    for _ in 1 2 3 4; do load repeat ask; done
    ;;
mariadb-metadata-lock)
    start_mariadb
    idle() { printf '%s\n' 'begin; select count(*) from t where id = 1;' '\! sleep 0.8' 'commit;' | sql d; }
    stall() { idle >/dev/null & sleep 0.2; sql d -e 'alter table t comment "changed"'; wait $!; sleep 1.5; }
    load repeat stall
    for _ in 1 2 3 4; do load repeat paced_sql 'select n from t where id = %;'; done
    ;;
*)
    echo "$0: $problem is not known" >&2
    exit 2
    ;;
esac
sleep 2
"$EVENKEEL" attach "$server" --preset "${problem%%-*}" --for "${seconds}s" -o "$work/run.keel" "$@"
if [ -n "${CASE:-}" ]; then
    "$EVENKEEL" report "$work/run.keel" --json | python3 "$here/../pattern-case.py" "scripts/patterns/servers.sh $problem $seconds $*" ${PATTERN:+"$PATTERN"} >"$CASE"
fi
