#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private nginx, and prints what the report finds.
#
#   scripts/patterns/nginx.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# problem.sh has the variables that it reads. As root.
. "$(dirname "$0")/problem.sh"

start() { # LINES OF THE SERVER, LINES OF HTTP, FIRST LINES
    port=$(free_port)
    mkdir -p "$work/html" "$work/tmp"
    echo small >"$work/html/small.txt"
    {
        echo "${3:-} daemon off; worker_processes 1; pid $work/pid; error_log $work/error.log; events { }"
        echo "http { access_log off;"
        for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/tmp/$kind;"; done
        echo "${2:-} server { listen 127.0.0.1:$port; root $work/html; $1 } }"
    } >"$work/nginx.conf"
    chmod -R a+rwX "$work"
    nginx -c "$work/nginx.conf" >"$work/server.log" 2>&1 &
    server=$!
    await curl -fs "http://127.0.0.1:$port/small.txt"
}

# An upstream that is slow for some of its answers.
start_upstream() { # SECONDS OF ONE ANSWER IN TEN
    upstream=$(free_port)
    load python3 -c 'import http.server, random, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(random.choice([0.002] * 9 + [float(sys.argv[2])]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()' "$upstream" "$1"
}

case $problem in
upstream)
    start_upstream 0.2
    start "location /slow { proxy_pass http://127.0.0.1:$upstream; }"
    ask_slow() { curl -s "http://127.0.0.1:$port/slow/[1-200]" >/dev/null; }
    for _ in 1 2 3 4; do load repeat ask_slow; done
    ;;
dead-upstream)
    # One of two servers takes no connections: its queue is full.
    start_upstream 0.002
    dead=$(free_port)
    load python3 -c 'import socket, sys, time
address = ("127.0.0.1", int(sys.argv[1]))
server = socket.create_server(address, backlog=0)
clients = [socket.socket() for _ in range(4)]
for one in clients:
    one.setblocking(False)
    one.connect_ex(address)
time.sleep(1000)' "$dead"
    start "location /page { proxy_pass http://both; proxy_connect_timeout 1s; }" \
        "upstream both { server 127.0.0.1:$upstream; server 127.0.0.1:$dead max_fails=0; }"
    for _ in 1 2 3 4; do load repeat ask /page 0.02; done
    ;;
disk)
    start 'sendfile on;'
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
    for _ in 1 2 3 4; do load repeat ask /small.txt 0.005; done
    load repeat ask_large
    ;;
gzip)
    start '' 'gzip on; gzip_types text/plain; gzip_comp_level 9;'
    for _ in 1 2; do seq 300000; done >"$work/html/large.txt"
    for _ in 1 2 3 4; do load repeat ask /small.txt 0.005; done
    load repeat ask /large.txt 0.3 Accept-Encoding gzip
    ;;
limit)
    start 'location / { limit_req zone=all burst=100; }' 'limit_req_zone $server_addr zone=all:1m rate=100r/s;'
    burst() { ab -q -n 60 -c 30 "http://127.0.0.1:$port/small.txt"; sleep 1; }
    load repeat burst
    load repeat ask /small.txt 0.05
    ;;
crowded)
    start ''
    for _ in $(seq $((2 * $(nproc)))); do load python3 -c 'while True: pass'; done
    for _ in 1 2 3 4; do load repeat ask /small.txt 0.005; done
    ;;
opening)
    start ''
    load python3 "$here/scan.py" "$work/html"
    for _ in 1 2 3; do load repeat ask /small.txt 0.005; done
    ;;
regex)
    # It backtracks where the path is long and does not end as it should.
    start 'rewrite "^/((x+)+)[yz]$" /small.txt; location /xxx { return 204; }'
    for _ in 1 2 3; do load repeat ask /small.txt 0.005; done
    load repeat ask "/$(printf 'x%.0s' $(seq 18))" 0.3
    ;;
error-log)
    slow_messages 0.1 0.3
    start "error_log $messages info;"
    for _ in 1 2 3; do load repeat ask "/missing/$(printf '%01000d' 1)" 0.002; done
    ;;
access-log)
    slow_messages 0.1 0.3
    start "access_log $messages;"
    for _ in 1 2 3; do load repeat ask "/small.txt?$(printf '%01000d' 1)" 0.002; done
    ;;
encryption)
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
    tls=$(free_port)
    start "listen 127.0.0.1:$tls ssl; ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem; ssl_protocols TLSv1.2; ssl_ciphers ECDHE-RSA-CHACHA20-POLY1305;"
    head -c 10000000 /dev/urandom >"$work/html/large.bin"
    load repeat ask /small.txt 0.005
    get() { curl -ks "https://127.0.0.1:$tls/large.bin" >/dev/null; sleep 0.1; }
    load repeat get
    ;;
listing)
    start 'autoindex on;'
    mkdir "$work/html/many"
    (cd "$work/html/many" && seq -f 'file%.0f' 20000 | xargs touch)
    for _ in 1 2 3; do load repeat ask /small.txt 0.005; done
    load repeat ask /many/ 0.3
    ;;
lua)
    # A script that waits for a program, and stops the worker.
    modules=/usr/lib/nginx/modules
    start 'location /script { content_by_lua_block { os.execute("sleep 0.02") ngx.say("ok") } }' '' \
        "load_module $modules/ndk_http_module.so; load_module $modules/ngx_http_lua_module.so;"
    for _ in 1 2 3; do load repeat ask /small.txt 0.005; done
    load repeat ask /script 0.1
    ;;
passwords)
    start "location /private/ { auth_basic private; auth_basic_user_file $work/users; }"
    mkdir "$work/html/private"
    echo small >"$work/html/private/small.txt"
    htpasswd -bcB -C 10 "$work/users" user password
    chmod -R a+rX "$work"
    for _ in 1 2 3; do load repeat ask /small.txt 0.005; done
    load repeat ask /private/small.txt 0.2 Authorization 'Basic dXNlcjpwYXNzd29yZA=='
    ;;
*)
    unknown
    ;;
esac
profile "$server" nginx "$@"
