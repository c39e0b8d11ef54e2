#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private Redis, nginx, Apache or MariaDB, and prints what the
# report finds.
#
#   scripts/patterns/servers.sh redis-keys|redis-fork|redis-large|nginx-upstream|nginx-disk|apache-keepalive|
#     mariadb-metadata-lock|mariadb-next-key [SECONDS] [-- OPTIONS OF ATTACH]
#
# common.sh has the variables that it reads. As root.
. "$(dirname "$0")/common.sh"

stop_servers() {
    if [ -n "${server:-}" ]; then kill "$server" 2>/dev/null || true; fi
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

start_apache() { # LINES OF THE SERVER
    port=$(free_port)
    mkdir -p "$work/html"
    echo small >"$work/html/small.txt"
    local modules=/usr/lib/apache2/modules
    {
        echo "ServerRoot $work
ServerName localhost
PidFile $work/pid
ErrorLog $work/error.log
Mutex file:$work default
User www-data
Group www-data
LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
LoadModule authz_core_module $modules/mod_authz_core.so
Listen 127.0.0.1:$port
DocumentRoot $work/html"
        echo "$1"
    } >"$work/apache.conf"
    chmod -R a+rwX "$work"
    # It ends its whole process group.
    setsid apache2 -d "$work" -f "$work/apache.conf" -D FOREGROUND >"$work/server.log" 2>&1 &
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
nginx-disk)
    start_nginx 'sendfile on;'
    for file in $(seq 8); do head -c 48M /dev/urandom >"$work/html/large$file.bin"; done
    sync -f "$work/html"
    # Asks for a large file that it has put out of the page cache.
    ask_large() {
        python3 -c 'import http.client, os, random, sys, time
client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
while True:
    name = "large%d.bin" % random.randint(1, 8)
    file = os.open(sys.argv[2] + "/" + name, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
    client.request("GET", "/" + name)
    answer = client.getresponse()
    while answer.read(1 << 20):
        pass
    time.sleep(0.3)' "$port" "$work/html"
    }
    ask_small() {
        python3 -c 'import http.client, sys, time
client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
while True:
    client.request("GET", "/small.txt")
    client.getresponse().read()
    time.sleep(0.005)' "$port"
    }
    for _ in 1 2 3 4; do load repeat ask_small; done
    load repeat ask_large
    ;;
apache-keepalive)
    start_apache 'KeepAlive On
KeepAliveTimeout 5
StartServers 10
ServerLimit 10
MaxRequestWorkers 10'
    # One request, after which the connection stays open and idle; and a new connection for each request.
    browser() {
        python3 -c 'import random, socket, sys, time
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) as s:
        s.sendall(b"GET /small.txt HTTP/1.1\r\nHost: x\r\n\r\n")
        s.recv(4096)
        time.sleep(random.uniform(0.5, 2))' "$port"
    }
    once() { curl -fs "http://127.0.0.1:$port/small.txt"; sleep 0.02; }
    for _ in $(seq 14); do load repeat browser; done
    for _ in 1 2 3 4; do load repeat once; done
    ;;
mariadb-next-key)
    start_mariadb
    sql d -e 'create table a like t; create table o (id int primary key, paid date, amount int)'
    sql d -e "insert into o select seq, '2020-03-01', 1 from seq_1_to_800000"
    migrate() { sql d -e "insert ignore into a select id, amount from o where paid < '2020-03-08' and id % 1000 = 7"; sleep 0.7; }
    load repeat migrate
    for _ in 1 2 3 4 5 6; do load repeat paced_sql 'update o set amount = amount + 1 where id = %;'; done
    ;;
*)
    unknown
    ;;
esac
profile "$server" "${problem%%-*}" "$@"
