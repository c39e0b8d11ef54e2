#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private nginx, and prints what the report finds.
#
#   scripts/patterns/nginx.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# problem.sh has the variables that it reads. As root.
. "$(dirname "$0")/problem.sh"

start() { # LINES OF THE SERVER, LINES OF HTTP
    port=$(free_port)
    mkdir -p "$work/html" "$work/tmp"
    echo small >"$work/html/small.txt"
    {
        echo "daemon off; worker_processes 1; pid $work/pid; error_log $work/error.log; events { }"
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
*)
    unknown
    ;;
esac
profile "$server" nginx "$@"
