# One query of eight is denied, which is logged, and nobody reads the log in time: named waits for its pipe.
options='--interval libns-9.18!ns_query_start'
cause="the pipe to a slow reader of the log, for one query of eight"
among='isc_log|printf|fflush'

prepare() {
    package named bind9
    package dig bind9-dnsutils
    package python3 python3
    title="BIND $(version_of bind9)"
    cat >"$place/conf" <<CONF
options {
    directory "$place";
    listen-on port $port { 127.0.0.1; };
    listen-on-v6 { none; };
    pid-file none;
    recursion no;
    session-keyfile none;
    managed-keys-directory "$place";
};
controls { };
zone "plain" { type primary; file "zone"; };
zone "slow" { type primary; file "zone"; allow-query { none; }; };
CONF
    printf '$TTL 60\n@ SOA ns h 1 60 60 60 60\n@ NS ns\n* A 127.0.0.1\n' >"$place/zone"
    name=$(yes some-fifty-characters-of-a-long-name-that-is-denied | head -n 4 | paste -sd .)
    for kind in plain slow; do
        for _ in $(seq 30); do
            yes "$name.plain A" | head -n 7
            echo "$name.$kind A"
        done >"$place/$kind"
    done
    mkfifo "$place/log"
    cat >"$place/reader.py" <<'PYTHON'
import fcntl, os, random, sys, time
log = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(log, fcntl.F_SETPIPE_SZ, 4096)
while os.read(log, 4096):
    time.sleep(random.uniform(0.02, 0.06))
PYTHON
}

serve() {
    python3 "$place/reader.py" "$place/log" &
    # shellcheck disable=SC2016 # for the inner shell
    "$@" sh -c 'exec /usr/sbin/named -g -n 2 -c "$1/conf" 2>"$1/log"' sh "$place"
}

turn() { dig @127.0.0.1 -p "$port" +tcp +keepopen +tries=1 +time=2 -f "$place/$1" >/dev/null; }
