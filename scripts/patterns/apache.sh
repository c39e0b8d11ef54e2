#!/bin/bash
# Reproduces a problem that a pattern of advice is about, on a private Apache, and prints what the report finds.
#
#   scripts/patterns/apache.sh PROBLEM [SECONDS] [-- OPTIONS OF ATTACH]        (problems: the cases below)
#
# problem.sh has the variables that it reads. As root.
. "$(dirname "$0")/problem.sh"

start() { # MODULES LINES OF THE SERVER [COMMAND THAT RUNS IT]
    local modules=/usr/lib/apache2/modules module lines=$2
    port=$(free_port)
    mkdir -p "$work/html"
    echo small >"$work/html/small.txt"
    {
        echo "ServerRoot $work
ServerName localhost
PidFile $work/pid
ErrorLog $work/error.log
Mutex file:$work default
User www-data
Group www-data"
        for module in "${mpm:-mpm_prefork}" authz_core $1; do echo "LoadModule ${module}_module $modules/mod_$module.so"; done
        echo "Listen 127.0.0.1:$port
DocumentRoot $work/html
$lines"
    } >"$work/apache.conf"
    chmod -R a+rwX "$work"
    shift 2
    # It ends its whole process group.
    setsid "$@" apache2 -d "$work" -f "$work/apache.conf" -D FOREGROUND >"$work/server.log" 2>&1 &
    server=$!
    await curl -fs "http://127.0.0.1:$port/small.txt"
}

start_private() { # the same with a location for users of $work/users
    start 'auth_basic authn_core authn_file authz_user' "<Location /private>
AuthType Basic
AuthName private
AuthUserFile $work/users
Require valid-user
</Location>"
    mkdir -p "$work/html/private"
    echo small >"$work/html/private/small.txt"
}

case $problem in
keepalive)
    start '' 'KeepAlive On
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
access-log)
    # Logs that are piped to a program, which stops now and then.
    cat >"$work/log.py" <<'END'
import os, time
end = time.monotonic()
while os.read(0, 4096):
    if time.monotonic() > end:
        time.sleep(0.4)
        end = time.monotonic() + 1
END
    start '' "CustomLog \"|/usr/bin/python3 $work/log.py\" \"%h %t %r %s %{User-Agent}i\""
    for _ in $(seq 6); do load repeat ask /small.txt 0.002 User-Agent "$(printf '%0800d' 1)"; done
    ;;
script)
    mkdir -p "$work/cgi"
    printf '%s\n' '#!/usr/bin/python3' 'import random, time' 'time.sleep(random.choice([0.0] * 9 + [0.2]))' 'print("Content-Type: text/plain\n\nok")' >"$work/cgi/answer"
    chmod a+rx "$work/cgi/answer"
    start 'alias cgi' "ScriptAlias /cgi/ $work/cgi/"
    for _ in 1 2; do load repeat ask /cgi/answer 0.02; done
    ;;
proxy)
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
    start 'proxy proxy_http' "ProxyPass /slow http://127.0.0.1:$upstream/"
    for _ in 1 2 3; do load repeat ask /slow/page 0.005; done
    ;;
body)
    mkdir -p "$work/cgi"
    printf '%s\n' '#!/bin/sh' 'cat >/dev/null' 'printf "Content-Type: text/plain\n\nok\n"' >"$work/cgi/take"
    chmod a+rx "$work/cgi/take"
    start 'alias cgi' "ScriptAlias /cgi/ $work/cgi/"
    post() {
        python3 -c 'import random, socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) as s:
    s.sendall(b"POST /cgi/take HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 20000\r\n\r\n" + b"x" * 10000)
    time.sleep(random.choice([0] * 9 + [0.3]))
    s.sendall(b"x" * 10000)
    while s.recv(4096):
        pass' "$port"
    }
    for _ in 1 2; do load repeat post; done
    ;;
host-names)
    # A name server that answers late, for this server alone.
    resolver=127.0.53.53
    load python3 -c 'import random, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    question, client = s.recvfrom(512)
    time.sleep(random.choice([0.001] * 9 + [0.1]))
    s.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], client)' "$resolver"
    echo "nameserver $resolver" >"$work/resolv.conf"
    echo "hosts: dns" >"$work/nsswitch.conf"
    start '' "HostnameLookups On
CustomLog $work/access.log \"%h %r\"" unshare -m sh -c "mount --bind $work/resolv.conf /etc/resolv.conf && mount --bind $work/nsswitch.conf /etc/nsswitch.conf && exec \"\$@\"" sh
    once() { curl -fs "http://127.0.0.1:$port/small.txt"; }
    for _ in 1 2 3; do load repeat once; done
    ;;
passwords)
    start_private
    htpasswd -bcB -C 10 "$work/users" user password
    chmod -R a+rX "$work"
    for _ in 1 2; do load repeat ask /small.txt 0.005; done
    load repeat ask /private/small.txt 0.2 Authorization 'Basic dXNlcjpwYXNzd29yZA=='
    ;;
users)
    start_private
    { seq -f 'user%.0f:$apr1$salt$hash' 200000; htpasswd -nbm user password; } >"$work/users"
    chmod -R a+rX "$work"
    for _ in 1 2; do load repeat ask /small.txt 0.005; done
    load repeat ask /private/small.txt 0.2 Authorization 'Basic dXNlcjpwYXNzd29yZA=='
    ;;
compression)
    start 'deflate filter' 'SetOutputFilter DEFLATE
DeflateCompressionLevel 9'
    for _ in 1 2; do seq 300000; done >"$work/html/large.txt"
    for _ in 1 2; do load repeat ask /small.txt 0.005; done
    load repeat ask /large.txt 0.3 Accept-Encoding gzip
    ;;
rewrite-map)
    cat >"$work/map.py" <<'END'
import random, sys, time
for line in sys.stdin:
    time.sleep(random.choice([0.0] * 19 + [0.1]))
    print("/small.txt", flush=True)
END
    chmod a+rx "$work/map.py"
    start 'rewrite' "RewriteEngine On
RewriteMap names \"prg:/usr/bin/python3 $work/map.py\"
RewriteRule ^/name/(.*)\$ \${names:\$1}"
    for _ in 1 2 3 4; do load repeat ask /name/a 0.01; done
    ;;
rewrite-rules)
    # Three thousand rules are compared with some of the paths.
    start 'rewrite' "RewriteEngine On
$(for i in $(seq 3000); do
        echo "RewriteCond %{QUERY_STRING} ^a.*b$i.*c\$"
        echo "RewriteRule ^/deep/.*\$ - [E=v$i:1]"
    done)"
    mkdir "$work/html/deep"
    echo small >"$work/html/deep/page"
    for _ in 1 2 3; do load repeat ask /small.txt 0.01; done
    load repeat ask "/deep/page?$(printf 'a%.0s' $(seq 40))b1c" 0.1
    ;;
crowded)
    start 'deflate filter' 'SetOutputFilter DEFLATE
DeflateCompressionLevel 9
StartServers 32
MaxRequestWorkers 64'
    seq 60000 >"$work/html/medium.txt"
    for _ in $(seq $((8 * $(nproc)))); do load repeat ask /medium.txt 0.01 Accept-Encoding gzip; done
    ;;
htaccess)
    start 'authz_host access_compat' '<Directory />
AllowOverride All
Require all granted
</Directory>'
    mkdir -p "$work/html/a/b/c/d/e/f/g/h"
    cp "$work/html/small.txt" "$work/html/a/b/c/d/e/f/g/h"
    # A long list of addresses.
    seq -f 'Deny from 10.0.0.0/%.0f' 8 32 >"$work/list"
    for _ in $(seq 150); do cat "$work/list"; done >"$work/html/a/.htaccess"
    chmod -R a+rX "$work/html"
    for _ in 1 2; do load repeat ask /small.txt 0.005; done
    load repeat ask /a/b/c/d/e/f/g/h/small.txt 0.02
    ;;
includes)
    # A page with the output of a program in it.
    start 'include filter mime cgi' 'TypesConfig /etc/mime.types
Options +Includes
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml'
    echo '<!--#exec cmd="sleep 0.1; echo ok" -->' >"$work/html/page.shtml"
    chmod -R a+rX "$work/html"
    for _ in 1 2; do load repeat ask /small.txt 0.01; done
    load repeat ask /page.shtml 0.3
    ;;
pool)
    # Threads of one process share two connections to a back end.
    mpm=mpm_worker
    upstream=$(free_port)
    load python3 -c 'import http.server, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.03)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()' "$upstream"
    start 'proxy proxy_http' "StartServers 1
ServerLimit 1
ThreadsPerChild 25
MaxRequestWorkers 25
ProxyPass /slow http://127.0.0.1:$upstream/ max=2 acquire=3000"
    for _ in 1 2 3 4 5; do load repeat ask /slow/page 0.05; done
    ;;
listing)
    start 'autoindex dir' 'Options Indexes
IndexOptions FancyIndexing'
    mkdir "$work/html/many"
    (cd "$work/html/many" && seq -f 'file%.0f' 8000 | xargs touch)
    chmod -R a+rX "$work/html"
    for _ in 1 2; do load repeat ask /small.txt 0.01; done
    load repeat ask /many/ 0.3
    ;;
webdav)
    start 'dav dav_fs' "DavLockDB $work/locks
<Directory $work/html>
Dav On
</Directory>"
    mkdir "$work/html/many"
    (cd "$work/html/many" && seq -f 'file%.0f' 3000 | xargs touch)
    chmod -R a+rX "$work/html"
    list() { curl -fs -o /dev/null -X PROPFIND -H 'Depth: 1' "http://127.0.0.1:$port/many/"; sleep 0.3; }
    for _ in 1 2; do load repeat ask /small.txt 0.01; done
    load repeat list
    ;;
sending)
    start '' ''
    head -c 8000000 /dev/urandom >"$work/html/large.bin"
    slow() {
        python3 -c 'import random, socket, sys, time
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) as s:
    s.sendall(b"GET /large.bin HTTP/1.0\r\n\r\n")
    while s.recv(1 << 18):
        time.sleep(random.choice([0] * 3 + [0.03]))' "$port"
    }
    for _ in 1 2; do load repeat ask /small.txt 0.005; done
    for _ in 1 2; do load repeat slow; done
    ;;
others)
    start 'deflate filter' 'SetOutputFilter DEFLATE'
    seq 3000 >"$work/html/medium.txt"
    for _ in $(seq $((4 * $(nproc)))); do load python3 -c 'while True: pass'; done
    load repeat ask /medium.txt 0.01 Accept-Encoding gzip
    ;;
*)
    unknown
    ;;
esac
profile "$server" apache "$@"
