#!/bin/sh
# Profiles programs that nobody tuned the profiler for, each under a load whose cause of variance is known, and prints a table
# in Markdown.
#
#   scripts/programs.sh [--debug] [PROGRAM]...      all without names; the table of docs/src/programs.md
#
# Each runs for half a minute, and what ends by itself once more without the profiler: output and exit status have to be the same.
# Installs what is missing. Exit status 1 where a cause was not found, or a program did not do what it does without the profiler. With
# KEEP=1 in the environment the reports stay.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
programs="sqlite rocksdb python php slapd haproxy tls varnish node java mariadb-10.2.11 mariadb-11.4.5"
build=release
if [ "${1:-}" = --debug ]; then
    build=debug
    shift
fi
evenkeel="${EVENKEEL:-$here/target/$build/evenkeel}"
server_of="$here/target/$build/examples/mariadb"
[ -x "$evenkeel" ] || {
    echo "scripts/programs.sh: build first: cargo build$([ $build = debug ] || echo " --release") -p evenkeel -p evenkeel-agent" >&2
    exit 2
}
seconds=25
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

package() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "installing $2" >&2
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    # Debian's services are not to be started.
    $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -y install --no-install-recommends "$2" >&2
}

port() {
    shuf -i 20000-29999 -n 1
}

version_of() {
    dpkg-query -W -f '${Version}' "$1" 2>/dev/null | sed -E 's/^[0-9]+://; s/[-+].*//'
}

# Factors of a report, the first three in one line.
factors() {
    sed -n '/^FACTORS/,/^VARIANCE/p' "$1" | grep -E '^ +[1-3]≈? +-?[0-9.]+ % ±' |
        sed -E 's/^ +[0-9]+≈? +//; s/ {2,}[^ ]+ [µmn]?s +[a-zA-Z\/]+ +/ /; s/  +/ /g' | paste -sd ';' | sed 's/;/; /g'
}

# A row: name, interval, what is known to vary, a pattern of its function, the log; remarks (`output differs`) from $remark.
remark=""
failed=0
row() {
    log=$5
    answer=$(factors "$log")
    when=$(tr '\r' '\n' <"$log" | grep -oE 'after [0-9.]+ s, [0-9,]+ intervals: .*' | grep -E -m1 -- "$4" | grep -oE '[0-9.]+ s' | head -n 1)
    intervals=$(grep -m1 -oE '[0-9,]+ (of [0-9,]+ )?seen' "$log" || tail -n 1 "$log")
    if printf '%s' "$answer" | grep -qE -- "$4"; then verdict=yes; else verdict="**no**"; fi
    [ "$verdict" = yes ] && [ -z "$remark" ] || failed=1
    printf '| %s | `%s` | %s | %s | %s | %s | %s%s |\n' "$1" "$2" "$3" "$answer" "$verdict" "${when:-at the end}" "$intervals" "$remark"
    remark=""
}

# Runs the words after the log's name twice, plain and profiled, and compares output and exit status.
compared() {
    interval=$1
    log=$2
    shift 2
    plain=0
    "$@" >"$log.plain" 2>&1 || plain=$?
    profiled=0
    # shellcheck disable=SC2016 # for the inner shell
    "$evenkeel" profile --interval "$interval" -- sh -c 'out=$1; shift; exec "$@" >"$out" 2>&1' sh "$log.output" "$@" \
        >"$log" 2>&1 || profiled=$?
    # The profiler says itself how a command ended that failed; its own errors end with 2.
    [ "$((plain != 0))" -eq "$profiled" ] || remark="$remark; exit status $profiled instead of $plain"
    cmp -s "$log.plain" "$log.output" || remark="$remark; output differs"
}

# Profiles a server for as long as its load lasts; the words after the interval start it, `load` puts it under load and ends.
served() {
    interval=$1
    log=$2
    shift 2
    "$evenkeel" profile --interval "$interval" --for "${seconds}s" -- "$@" >"$log" 2>&1 &
    profiler=$!
    children="$children $profiler"
    sleep 3
    load >"$log.load" 2>&1 &
    load=$!
    children="$children $load"
    wait "$profiler" || remark="$remark; exit status $?"
    kill "$load" 2>/dev/null || true
    wait "$load" 2>/dev/null || true
    children=""
}

# sqlite3 commits each insert durably, between queries over an index.
profile_sqlite() {
    package sqlite3 sqlite3
    awk 'BEGIN { srand(1); print "pragma journal_mode=wal; pragma synchronous=full; create table t(id integer primary key, k int, v text); create index i on t(k);";
        for (n = 0; n < 40000; n++) if (n % 3) printf "insert into t(k, v) values(%d, \"%0*d\");\n", rand() * 100000, rand() * 190 + 10, 0;
        else printf "select count(*) from t where k between %d and %d;\n", rand() * 100000, rand() * 100000 }' >"$scratch/load.sql"
    interval='libsqlite3.so.0!sqlite3_step'
    # shellcheck disable=SC2016 # for the inner shell
    compared "$interval" "$scratch/sqlite.log" sh -c 'rm -f "$1.db"*; exec sqlite3 "$1.db" <"$1"' sh "$scratch/load.sql"
    row "SQLite $(sqlite3 --version | cut -d ' ' -f 1)" "$interval" "\`fdatasync\` of the log at each commit" fdatasync "$scratch/sqlite.log"
}

profile_rocksdb() {
    package db_bench rocksdb-tools
    interval='librocksdb.so!rocksdb::DBImpl::Write'
    log="$scratch/rocksdb.log"
    "$evenkeel" profile --interval "$interval" --for "${seconds}s" -- \
        db_bench --benchmarks=fillrandom --num=20000000 --sync=1 "--db=$scratch/rocksdb" >"$log" 2>&1 || remark="; exit status $?"
    row "RocksDB $(version_of rocksdb-tools)" "$interval" "the log's sync at each write" 'Sync|fdatasync' "$log"
}

# A text that is compressed at each turn, of random length.
profile_python() {
    package /usr/bin/python3 python3
    cat >"$scratch/load.py" <<'END'
import json, random, zlib
random.seed(1)
text = bytes(random.choices(b"abcdefgh ", k=200000))
turn = "len(json.dumps(list(range(200)))) + len(zlib.compress(text[:n]))"
print(sum(eval(turn, {"json": json, "zlib": zlib, "text": text, "n": random.randrange(200000)}) for _ in range(4000)))
END
    compared PyRun_StringFlags "$scratch/python.log" /usr/bin/python3 "$scratch/load.py"
    row "CPython $(version_of python3)" PyRun_StringFlags "\`zlib.compress\` of texts of random length" 'deflate|compress' "$scratch/python.log"
}

# PHP's own server: each request sorts, and sleeps for a random time.
profile_php() {
    package php php-cli
    printf '<?php $a = range(1, 500); shuffle($a); sort($a); usleep(mt_rand(0, 3000)); echo md5(implode(",", $a));\n' >"$scratch/router.php"
    at=$(port)
    load() { while :; do curl -s -o /dev/null "http://127.0.0.1:$at/[1-200]" || sleep 0.2; done; }
    served zend_execute_scripts "$scratch/php.log" php -S "127.0.0.1:$at" "$scratch/router.php"
    row "PHP $(version_of php8.2-cli)" zend_execute_scripts "\`usleep\` of a random time" 'usleep|nanosleep' "$scratch/php.log"
}

# Searches without an index, for each of which all entries are compared, beside those for one entry.
profile_slapd() {
    package slapd slapd
    package ldapsearch ldap-utils
    data="$scratch/slapd"
    mkdir -p "$data/db"
    cat >"$data/conf" <<END
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=test"
rootdn "cn=admin,dc=test"
directory $data/db
maxsize 100000000
END
    awk 'BEGIN { print "dn: dc=test\nobjectClass: organization\nobjectClass: dcObject\no: test\ndc: test\n";
        for (n = 0; n < 3000; n++) printf "dn: cn=p%d,dc=test\nobjectClass: person\ncn: p%d\nsn: s%d\n\n", n, n, n }' >"$data/entries"
    slapadd -f "$data/conf" -l "$data/entries" >/dev/null 2>&1
    at=$(port)
    awk 'BEGIN { srand(1); for (n = 0; n < 4000; n++) print (n % 8 ? "(objectClass=dcObject)" : "(sn=s" int(rand() * 3000) ")") }' >"$data/filters"
    load() {
        while :; do
            while read -r filter; do
                case "$filter" in *dcObject*) scope=base ;; *) scope=sub ;; esac
                ldapsearch -x -LLL -H "ldap://127.0.0.1:$at" -b dc=test -s $scope "$filter" dn || sleep 0.2
            done <"$data/filters"
        done
    }
    served do_search "$scratch/slapd.log" /usr/sbin/slapd -d 0 -f "$data/conf" -h "ldap://127.0.0.1:$at"
    row "OpenLDAP slapd $(version_of slapd)" do_search "every eighth search compares all entries" 'mdb_search|test_filter|mdb_id2entry|entry_decode|send_search' "$scratch/slapd.log"
}

haproxy_defaults() {
    printf 'defaults\n    mode http\n    timeout client 10s\n    timeout server 10s\n    timeout connect 1s\n'
}

# One path of eight is matched against a regular expression that takes long, each time: HAProxy would keep what it found for a path.
profile_haproxy() {
    package haproxy haproxy
    at=$(port)
    cat >"$scratch/haproxy.cfg" <<END
global
    tune.pattern.cache-size 0
$(haproxy_defaults)
frontend f
    bind 127.0.0.1:$at
    http-request deny if { path -m beg /slow } { path -m reg ^/slow/b/(a|aa)+b\$ }
    http-request return status 200
END
    load() {
        while :; do
            curl -s -o /dev/null "http://127.0.0.1:$at/fast/[1-7]" "http://127.0.0.1:$at/slow/b/aaaaaaaaaaaaaaaaaaaaaaaa[1-1]" || sleep 0.2
        done
    }
    served process_stream "$scratch/haproxy.log" /usr/sbin/haproxy -db -f "$scratch/haproxy.cfg"
    row "HAProxy $(version_of haproxy)" process_stream "a regular expression, for one request of eight" 'regex|pcre' "$scratch/haproxy.log"
}

# Handshakes of HAProxy: one connection of eight begins a session, for which the server's private key is needed; the others resume it.
profile_tls() {
    package haproxy haproxy
    at=$(port)
    openssl req -x509 -newkey rsa:4096 -nodes -keyout "$scratch/tls.pem.key" -out "$scratch/tls.pem" -days 30 -subj /CN=localhost 2>/dev/null
    cat >"$scratch/tls.cfg" <<END
$(haproxy_defaults)
frontend f
    bind 127.0.0.1:$at ssl crt $scratch/tls.pem ssl-max-ver TLSv1.2
    http-request return status 200
END
    load() { while :; do curl -sk --http1.0 -o /dev/null "https://127.0.0.1:$at/[1-8]" || sleep 0.2; done; }
    served ssl_sock_io_cb "$scratch/tls.log" /usr/sbin/haproxy -db -f "$scratch/tls.cfg"
    row "HAProxy $(version_of haproxy), TLS" ssl_sock_io_cb "the private key's operation, for one connection of eight" \
        'RSA|rsa|BN_mod_exp|EVP_(Digest|PKEY_)' "$scratch/tls.log"
}

# One request of eight is handed to a server that takes 2 to 20 ms; the others are in the cache.
profile_varnish() {
    package varnishd varnish
    at=$(port)
    cat >"$scratch/backend.py" <<'END'
import http.server, random, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(random.uniform(0.002, 0.02))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 2000)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
    python3 "$scratch/backend.py" $((at + 1)) 2>/dev/null &
    backend=$!
    children="$children $backend"
    printf 'vcl 4.1; backend default { .host = "127.0.0.1"; .port = "%s"; } sub vcl_recv { if (req.url ~ "^/slow") { return (pass); } return (hash); }\n' \
        $((at + 1)) >"$scratch/varnish.vcl"
    load() { while :; do curl -s -o /dev/null "http://127.0.0.1:$at/fast?[1-7]" "http://127.0.0.1:$at/slow?[1-1]" || sleep 0.2; done; }
    served CNT_Request "$scratch/varnish.log" /usr/sbin/varnishd -F -j none -n "$scratch/varnish" -a "127.0.0.1:$at" -f "$scratch/varnish.vcl" -s malloc,20m
    kill "$backend" 2>/dev/null || true
    row "Varnish $(version_of varnish)" CNT_Request "the wait for another server, in one request of eight" \
        'Lck_CondWait|pthread_cond|ObjWait' "$scratch/varnish.log"
}

# A key is derived at each turn, with a random number of iterations.
profile_node() {
    package node nodejs
    cat >"$scratch/load.js" <<'END'
const crypto = require("crypto");
let state = 1, total = 0;
for (let n = 0; n < 20000; n++) {
    state = (state * 1103515245 + 12345) % 2147483648;
    total += crypto.pbkdf2Sync("secret", "salt", 1 + state % 1000, 32, "sha256")[0];
}
console.log(total);
END
    interval=PKCS5_PBKDF2_HMAC
    compared "$interval" "$scratch/node.log" node "$scratch/load.js"
    row "Node.js $(version_of nodejs)" "$interval" "a random number of iterations" 'HMAC|EVP|EVP_MAC|kdf|pbkdf' "$scratch/node.log"
}

# Texts of random length are compressed by the native library.
profile_java() {
    package java default-jre-headless
    package javac default-jdk-headless
    cat >"$scratch/Load.java" <<'END'
import java.util.Random;
import java.util.zip.Deflater;
public class Load {
    public static void main(String[] arguments) {
        Random random = new Random(1);
        byte[] text = new byte[200000], to = new byte[300000];
        for (int at = 0; at < text.length; at++) text[at] = (byte) ("abcdefgh ".charAt(random.nextInt(9)));
        long total = 0;
        for (int turn = 0; turn < 1500; turn++) {
            Deflater deflater = new Deflater();
            deflater.setInput(text, 0, 1 + random.nextInt(text.length - 1));
            deflater.finish();
            total += deflater.deflate(to);
            deflater.end();
        }
        System.out.println(total);
    }
}
END
    javac -d "$scratch" "$scratch/Load.java"
    interval='libzip.so!Java_java_util_zip_Deflater_deflateBytesBytes'
    compared "$interval" "$scratch/java.log" java -cp "$scratch" Load
    row "OpenJDK $(version_of openjdk-17-jre-headless)" "$interval" "\`deflate\` of texts of random length" deflate "$scratch/java.log"
}

# TPC-C begins some seconds after the profile. What varies is the wait for a row's lock (dissertation, table 2.1).
profile_mariadb() {
    version=$1
    "$here/scripts/install.sh" "mariadb-$version"
    [ -x "$server_of" ] || {
        echo "scripts/programs.sh: build first: cargo build$([ $build = debug ] || echo " --release") -p evenkeel-servers --example mariadb" >&2
        exit 2
    }
    log="$scratch/mariadb-$version.log"
    rm -f "$scratch/port"
    "$server_of" --release "$version" --port-file "$scratch/port" --set innodb-buffer-pool-size=512M --set max-prepared-stmt-count=1000000 \
        --set local-infile=ON "$evenkeel" profile --preset mariadb --for 60s -- >"$log" 2>&1 &
    server=$!
    children="$children $server"
    while [ ! -s "$scratch/port" ]; do sleep 0.2; done
    target="mysql://root@127.0.0.1:$(cat "$scratch/port")/test"
    # A server that begins may take a while to listen.
    for _ in $(seq 60); do
        curl -s -o /dev/null --max-time 1 "telnet://127.0.0.1:$(cat "$scratch/port")" </dev/null || [ $? -ne 7 ] && break
        sleep 0.5
    done
    "$evenkeel" bench tpcc --scale 2 --target "$target" --clients 8 --for 1s --no-check >"$log.load" 2>&1 || true
    # The load goes on until the profile ends, and the server with it.
    "$evenkeel" bench tpcc --scale 2 --target "$target" --clients 32 --for 60s --no-check >>"$log.load" 2>&1 || true
    wait "$server" || remark="; exit status $?"
    children=""
    row "MariaDB $version, official build, TPC-C, 2 warehouses, 32 clients" "--preset mariadb" \
        "the wait for a row's lock" 'lock_wait|os_event_wait|lock_rec' "$log"
}

# shellcheck disable=SC2086 # word splitting wanted
[ $# -gt 0 ] || set -- $programs
echo "| program | interval | known cause | first factors (share of variance) | among them | first after | intervals |"
echo "|---|---|---|---|---|---|---|"
for program in "$@"; do
    case " $programs " in
    *" $program "*) ;;
    *)
        echo "usage: scripts/programs.sh [--debug] [PROGRAM]...    programs: $programs" >&2
        exit 2
        ;;
    esac
    case "$program" in
    mariadb-*) profile_mariadb "${program#mariadb-}" ;;
    *) "profile_$program" ;;
    esac
done
exit "$failed"
