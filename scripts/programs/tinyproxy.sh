# None of its functions has a symbol: the interval lies between two calls of the C library. One request of eight is for a page that
# takes its server 10 to 30 ms.
options='--interval libc.so.6!connect..shutdown'
cause="the wait for the server behind it, in one request of eight"
among='recv'

prepare() {
    package tinyproxy tinyproxy-bin
    package curl curl
    title="tinyproxy $(version_of tinyproxy-bin)"
    cat >"$place/behind.py" <<'PYTHON'
import http.server, random, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/slow"):
            time.sleep(random.uniform(0.01, 0.03))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 2000)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
PYTHON
    cat >"$place/conf" <<CONF
Port $port
Listen 127.0.0.1
Timeout 60
MaxClients 50
LogFile "$place/log"
LogLevel Error
CONF
}

serve() {
    python3 "$place/behind.py" $((port + 1)) 2>/dev/null &
    behind=$!
    status=0
    "$@" /usr/bin/tinyproxy -d -c "$place/conf" || status=$?
    kill "$behind"
    return "$status"
}

turn() {
    at="http://127.0.0.1:$((port + 1))"
    curl -sf -x "127.0.0.1:$port" -o /dev/null "$at/fast?[1-7]" -o /dev/null "$at/$1?[1-1]"
}
